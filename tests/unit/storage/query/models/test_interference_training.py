"""GIVEN visits that do not suffice WHEN experiments are searched THEN they are of a selected chip, and all are searched."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from analysis.interference.experiments import Metric, Run
from storage import experiments
from storage.errors import BadSelection
from storage.experiments import ExperimentSet, Part, PlatformRun
from storage.query.answers.inputs import Unavailable
from storage.query.answers.interference import Source
from storage.query.estimation.sampling_design import Coverage
from storage.query.facts.selection_echo import inputs_of
from storage.query.models import interference_training
from storage.query.models.interference_experiments import read_experiment_ground
from storage.query.models.interference_training import Trained, Wanted
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

NOW = datetime(2026, 11, 17, tzinfo=UTC)
WHOLE = Selection(NOW, NOW + timedelta(hours=1))
NOTHING = inputs_of(Coverage(random=True, selected_s=60.0), 7, 5)
WHY = Unavailable("too_little", "Nobody knows.")
READING = cast("StoreReading", SimpleNamespace(connection=None))
WANTED = Wanted(WHOLE, ("web",), peak_gbs=12.8)
Kept = dict[str, dict[str, Sequence[Run]]]


def runs(target: str, count: int = 24) -> list[Run]:
    alone = [Run(name, (), Metric.CPI, 1.0, 5.0, 1.0, 1.0) for name in (target, "batch")]
    beside = [("batch",) * (1 + number % 4) for number in range(count)]
    return alone + [Run(target, others, Metric.CPI, 1.0 + 0.1 * len(others)) for others in beside]


def part(platform: str, of: Sequence[Run]) -> Part:
    mixes = [run.target for run in of if run.beside]
    return Part(
        platform, tuple((name, mixes.count(name)) for name in sorted(set(mixes))), (), len(of) - len(mixes)
    )


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Runs by set and platform, the newest set first."""
    kept: Kept = {}

    def sets(_: object) -> tuple[ExperimentSet, ...]:
        return tuple(
            ExperimentSet(number, name, "", NOW, tuple(part(*each) for each in of.items()))
            for number, (name, of) in enumerate(kept.items())
        )

    def find(_: object, name: str) -> ExperimentSet:
        return next(each for each in sets(None) if each.name == name)

    def read(_: object, set_id: int, platform: str) -> tuple[PlatformRun, ...]:
        found = list(kept.values())[set_id].get(platform, ())
        return tuple(PlatformRun(line, platform, run) for line, run in enumerate(found, 2))

    for named in (sets, find, read):
        monkeypatch.setattr(experiments, named.__name__, named)
    return kept


def by_others(wanted: Wanted = WANTED, chosen: str = "") -> Trained:
    """What is said where visits, of this platform, say nothing."""
    ground: Any = SimpleNamespace(platform=chosen, inputs=NOTHING, left_out={})
    fleet = Trained(ground, {}, dict.fromkeys(wanted.targets, WHY), Source("visits", None, 0, 0, None))
    return interference_training._by_others(READING, wanted, fleet)


def test_runs_on_a_chip_that_the_selection_leaves_out_do_not_answer(kept: Kept) -> None:
    kept["lab"] = {"B": runs("web", 48), "A": runs("web")}
    assert by_others().ground.platform == "B"
    for matchers, platform in (
        ('{platform="A"}', "A"),
        ('{platform!="B"}', "A"),
        ('{platform=~"[B-Z]"}', "B"),
    ):
        found = by_others(replace(WANTED, selection=replace(WHOLE, matchers=parse_matchers(matchers))))
        assert (found.ground.experiments, found.ground.platform) == ("lab", platform), matchers
    elsewhere = replace(WHOLE, matchers=parse_matchers('{platform="Z80", machine="m1"}'))
    assert by_others(replace(WANTED, selection=elsewhere)).unavailable == {"web": WHY}


def test_runs_on_another_chip_than_the_visits_do_not_answer(kept: Kept) -> None:
    kept["new"] = {"B": runs("web", 48)}
    assert by_others(chosen="A").unavailable == {"web": WHY}
    kept["old"] = {"B": runs("web", 48), "A": runs("web")}
    found = by_others(chosen="A")
    assert (found.ground.experiments, found.ground.platform) == ("old", "A")
    assert by_others(replace(WANTED, platform="B")).ground.experiments == "new"


def test_all_sets_are_looked_through(kept: Kept) -> None:
    for number in range(5):
        kept[f"few-{number}"] = {"A": runs("web", 3)}
    kept["enough"] = {"A": runs("web")}
    assert by_others().ground.experiments == "enough"
    del kept["enough"]
    assert (
        by_others()
        .unavailable["web"]
        .detail.startswith("Nobody knows. The experiments few-0 do not suffice: ")
    )


def test_all_targets_are_of_one_platform(kept: Kept) -> None:
    kept["apart"] = {"A": runs("web"), "B": runs("feed")}
    wanted = replace(WANTED, targets=("web", "feed"))
    assert not by_others(wanted).models
    kept["lab"] = {"A": runs("web", 200), "B": [*runs("web"), *runs("feed")[::2], *runs("feed")[1:]]}
    found = by_others(wanted)
    assert (found.ground.experiments, found.ground.platform) == ("lab", "B")
    assert set(found.models) == {"web", "feed"}


def test_without_a_platform_that_has_the_targets_it_is_the_one_with_most_runs(kept: Kept) -> None:
    kept["lab"] = {"A": runs("web"), "B": runs("web", 30), "C": runs("feed")}
    (found,) = experiments.sets(cast("Any", None))
    for targets, platform in ((("web",), "B"), (("feed", "web"), "B"), (("feed",), "C"), (("none",), "B")):
        ground = read_experiment_ground(
            READING, found, targets, platform="", peak_gbs=1.0, inputs=NOTHING, left_out={}
        )
        assert ground.platform == platform, targets


def test_named_experiments_read_no_visit(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference_training, "campaign_of", lambda *_: 1)
    kept["lab"] = {"B": runs("web", 48), "A": runs("web")}
    named = replace(WANTED, experiments="lab")
    found = interference_training.train(READING, named)  # of a connection that is none
    assert (found.source.runs, found.ground.platform) == (48, "B")
    assert (found.ground.inputs.visits, found.ground.inputs.used) == (0, 0)
    of_a = replace(WHOLE, matchers=parse_matchers('{platform="A"}'))
    assert interference_training.train(READING, replace(named, selection=of_a)).ground.platform == "A"
    of_none = replace(WHOLE, matchers=parse_matchers('{platform="Z80"}'))
    said = interference_training.train(READING, replace(named, selection=of_none)).unavailable["web"].detail
    assert said == "The experiments lab have no run of 'web' beside others on any platform of the selection."
    wrong = replace(WHOLE, matchers=parse_matchers('{thread="x"}'))
    with pytest.raises(BadSelection, match="no label 'thread'"):
        interference_training.train(READING, replace(named, selection=wrong))
