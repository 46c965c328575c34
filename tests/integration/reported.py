"""What `fleetprof report` prints of the simulated fleet: that every report runs, agrees with its route, and says why it says nothing."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from typer.testing import CliRunner

from services.cli import app
from storage.query.answers.affinity import AffinityAnswer
from storage.query.answers.apu import ApuAnswer
from storage.query.answers.composition import CompositionAnswer
from storage.query.answers.cross_check import CrossCheckAnswer
from storage.query.answers.events import EventsAnswer
from storage.query.answers.feature import FeatureAnswer
from storage.query.answers.frequency import FrequencyAnswer
from storage.query.answers.interference import InterferenceAnswer
from storage.query.answers.load_test import LoadTestAnswer
from storage.query.answers.machine_types import MachineTypesAnswer
from storage.query.answers.placement import PlacementAnswer
from storage.query.answers.ratios import RatioAnswer
from storage.query.answers.side_by_side import SideAnswer
from storage.query.answers.stability import StabilityAnswer
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time

_NO_ANSWER = 3


def check_reports(whole: Selection, platforms: tuple[str, ...], folder: Path) -> None:
    """Ask every report for all of an ingested past with these two platforms; `FLEETPROF_DATABASE_URL` says where it is."""
    asking = _Asking(("--from", format_time(whole.start), "--to", format_time(whole.end)))
    shown = asking.told(RatioAnswer, "cpi", "--by", "platform")
    assert "cycles / instructions" in shown
    assert "missing: cycles, instructions, unsupported" in shown
    assert "2026-11-17 06:00" in asking.told(RatioAnswer, "cpi", "--by", "", "--step", "6h")
    assert "agree" in asking.told(CrossCheckAnswer, "cross-check")
    assert "cpi" in asking.told(SideAnswer, "platforms", *platforms)
    shown = asking.told(AffinityAnswer, "affinity", "--applications", "5", "--room", "5", "--no-cautious")
    assert "planned" in shown
    assert "free capacity for other moves" in shown
    pinned = ("affinity", '{application="search-ranker"}', "--pin", "search-ranker")
    assert "No move saves cycles" in asking.told(AffinityAnswer, *pinned)
    assert "any thread busy" in asking.told(ApuAnswer, "apu", "--coefficient", "1.4")
    assert "CPU second" in asking.told(
        ApuAnswer, "apu", "--by", "application", "--coefficient", "1.4", "--rows", "3"
    )
    assert "relative to" in asking.told(FrequencyAnswer, "frequency", "--latency-ns", "20")
    assert "last step" in asking.told(CompositionAnswer, "composition", "--by", "platform", "--step", "3h")
    assert "affected:" in asking.told(FeatureAnswer, "feature", "^mem", "--speedup", "3")
    assert "are in wrong rows" in asking.told(StabilityAnswer, "stability")
    both = ('{application="search-ranker"}', '{application!="search-ranker"}')
    assert "does not represent" in asking.told(LoadTestAnswer, "load-test", *both)
    types = ("machine-types", *platforms, "--new-price", "1.33", "--coefficient", "1.4")
    assert "1.33 times the price" in asking.told(MachineTypesAnswer, *types)
    rates = folder / "rates.csv"
    rates.write_text(
        "".join(f"{whole.start.timestamp() + 3600 * hour},{100 + hour % 5}\n" for hour in range(12))
    )
    served = (*types, "--old-rates", str(rates), "--new-rates", str(rates))
    # Nothing of the simulated fleet's load comes of requests: that is said of each type, by each measure.
    assert f"{platforms[0]}: Load does not rise" in asking.unavailable(*served)
    assert "Give either" in asking.said(2, *types, "--old-rates", str(rates))
    rates.write_text("".join(f"{whole.start.timestamp() + 3600 * hour},100\n" for hour in range(12)))
    assert "request rates do not vary" in asking.unavailable("capacity", "--rates", str(rates)).lower()
    rates.write_text("time,rate\n1,2\nnow,3\n")
    assert "Line 3: invalid time" in asking.refused("capacity", "--rates", str(rates))

    assert "Z80" in asking.unavailable("machine-types", platforms[0], "Z80", "--coefficient", "1.4")
    assert "calibrate" in asking.unavailable("apu")
    assert "calibrate" in asking.unavailable("frequency")
    assert "Z80" in asking.unavailable("platforms", platforms[0], "Z80")
    assert "Match machine" in asking.refused("cpi", '{compiler="gcc"}')
    assert "'serach' is pinned" in asking.refused("affinity", "--pin", "serach")
    assert "--step 1h" in asking.refused("cpi", "--step", "soon")


def check_sharing_reports(whole: Selection, target: str, neighbour: str, peak_gbs: float) -> None:
    """Ask how `target` runs beside `neighbour`, and what should share a machine; both are known alone."""
    asking = _Asking(("--from", format_time(whole.start), "--to", format_time(whole.end)))
    one = ("interference", target, "--peak-gbs", str(peak_gbs))
    mix = (*one, "--beside", f"{neighbour}:6", "--cores", "4")
    shown = asking.told(InterferenceAnswer, *mix)
    assert f"{target} beside {neighbour}:6 takes longer than alone by " in shown
    assert "the mean of all training mixes is" in shown
    assert "left out: " in shown
    assert "beside" not in asking.told(InterferenceAnswer, *one).splitlines()[1].split("visits")[0]
    # The application is known and the mix is not: that is no answer to who asked about the mix.
    assert "No result (too_little): The pressure of kubelet is unknown" in asking.said(
        3, *one, "--beside", "kubelet"
    )
    assert "to itself" in asking.unavailable("interference", "kubelet")
    assert "select machines only" in asking.refused("interference", target, '{application="x"}')
    programs = ("placement", f"{target}:10,{neighbour}", "--machines")
    shown = asking.told(PlacementAnswer, *programs, "2", "--peak-gbs", str(peak_gbs))
    assert "1 of 1 limits are met" in shown
    asking.unavailable(*programs, "1", "--slots", "1")
    assert "kubelet" in asking.unavailable("placement", "kubelet,nobody", "--machines", "2")


def check_events_report(whole: Selection, application: str, planted: tuple[str, ...], tune: str) -> None:
    """Ask for the events of `application`: these were planted, and `tune` moves them."""
    asking = _Asking(("--from", format_time(whole.start), "--to", format_time(whole.end)))
    shown = asking.told(EventsAnswer, "events", application, "--rows", "2")
    assert all(name in shown for name in planted)
    assert f"the setting with the largest effect on these events: {tune}" in shown
    assert "too small a share of the machine" in asking.unavailable(
        "events", application, "--least-share", "0.95"
    )


class _Asking:
    def __init__(self, times: tuple[str, ...]) -> None:
        self._times = times
        self._runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"})

    def told(self, model: type[Any], *words: str) -> str:
        """What is printed; its JSON is the route's answer."""
        answer = self._run(0, *words, "--json")
        TypeAdapter(model).validate_json(answer)
        return self._run(0, *words)

    def unavailable(self, *words: str) -> str:
        """Why there is no answer, in JSON and printed alike."""
        because: dict[str, Any] = json.loads(self._run(_NO_ANSWER, *words, "--json"))["because"]
        shown = self._run(_NO_ANSWER, *words)
        assert f"No result ({because['reason']})" in shown
        return str(because["detail"])

    def said(self, code: int, *words: str) -> str:
        """What is printed, with this exit code."""
        return self._run(code, *words)

    def refused(self, *words: str) -> str:
        """What a mistake is answered with."""
        return self._run(1, *words)

    def _run(self, code: int, *words: str) -> str:
        result = self._runner.invoke(app, ["report", *words, *self._times])
        assert result.exit_code == code, (words, result.output, result.exception)
        return result.output
