"""Trains a target with the fleet's visits: those beside others, relative to those alone (DIGEST I1, I2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.errors import NotEstimable
from analysis.interference.colocation import LEAST_ALONE, Solo, training
from analysis.interference.pieces import of_peak
from analysis.interference.target import fit_target
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.models.interference_ground import Known, TrainedTarget
from storage.query.models.interference_inputs import InterferenceInputs


@dataclass(frozen=True, slots=True)
class FleetGround:
    """Visits of machines with one chip."""

    found: InterferenceInputs
    experiments: str = field(default="", init=False)

    @property
    def platform(self) -> str:
        """Platform of the chips; "": no usable visit."""
        return self.found.platform

    @property
    def lines(self) -> str:
        """The counter used for lines brought into the cache."""
        return self.found.lines

    @property
    def peak_gbs(self) -> float:
        """Peak bandwidth of a chip's memory; NaN: no usable visit."""
        return self.found.peak_gbs

    @property
    def peak_is_seen(self) -> bool:
        """The peak is the largest bandwidth of a visit."""
        return self.found.peak_is_seen

    @property
    def inputs(self) -> Inputs:
        """The visits read."""
        return self.found.inputs

    @property
    def left_out(self) -> Mapping[str, int]:
        """Unusable visits, by cause."""
        return self.found.left_out

    @property
    def known(self) -> Mapping[str, Known]:
        """Applications that had a chip to themselves often enough, by name."""
        found = self.found
        return {found.names[at]: _known(solo) for at, solo in found.solos.items() if at < len(found.names)}

    def trained(self, application: str) -> tuple[TrainedTarget | None, Unavailable | None]:
        """The model of an application, or the reason why there is none."""
        found = self.found
        if not found.inputs.visits:
            return None, Unavailable("too_little", "No visit of the selection has been ingested.")
        if not len(found.chips.seconds):
            return None, _nothing_usable(found)
        number = found.number(application)
        if number < 0 or not (found.chips.application == number).any():
            return None, Unavailable(
                "too_little",
                f"No visit of a single-socket machine of {found.platform or 'any platform'} counted "
                f"{application!r}. Count control groups: fleetprof campaigns set … --cgroups 16.",
            )
        if number not in found.solos:
            return None, Unavailable(
                "too_little",
                f"{application} had a chip of {found.platform} to itself in fewer than {LEAST_ALONE} "
                "visits, so its behaviour alone is unknown. Run it alone on some machines.",
            )
        try:
            trained = training(found.chips, number, dict(found.solos))
            cuts = of_peak(found.peak_gbs)
            model = fit_target(trained.own, trained.mixes, trained.degradation, cuts, typical=trained.typical)
        except NotEstimable as error:
            return None, Unavailable(error.reason, str(error))
        return TrainedTarget(model, trained), None

    def why_unknown(self) -> str:
        """The reason why an application is not among the known ones."""
        return f"it had a chip to itself in fewer than {LEAST_ALONE} visits"


def _known(solo: Solo) -> Known:
    return Known(solo.lines_per_cpu_s, solo.gigabytes_per_cpu_s, solo.cpi, visits=solo.visits)


def _nothing_usable(found: InterferenceInputs) -> Unavailable:
    if not found.left_out:
        return Unavailable("too_little", "No visit has CPU time.")
    why = max(found.left_out, key=found.left_out.__getitem__)
    return Unavailable(
        "too_little",
        f"No visit has all the needed data. Most frequent reason: {why}. The model needs "
        "single-socket machines whose memory traffic and control groups are counted: fleetprof "
        "campaigns set … --cgroups 16. Otherwise measure programs that are bound to one chip, and "
        "upload the measurements: fleetprof experiments add.",
    )
