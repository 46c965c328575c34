"""Files of experiments with a known truth: runs of the simulated chip of the benchmark, as an operator would write them down."""

from dataclasses import dataclass

import numpy as np

from benchmarks.models.shared_chip import PEAK, Chip, made

PLATFORM = "Simulated CPU @ 3 GHz"
HEAD = "platform,target,beside,metric,value,mlines_per_s,gb_per_s,cores"
MIX = 4
_PRESSURE_ERROR = 0.02
_RUN_ERROR = 0.005
SOLO_CPI = 1.25


@dataclass(frozen=True)
class Lab:
    """A chip, what was measured on it, and mixes that were not."""

    chip: Chip
    text: str
    unseen: dict[int, list[np.ndarray]]
    """Mixes by target, the target first."""

    @property
    def content(self) -> bytes:
        return self.text.encode()

    def true(self, members: np.ndarray) -> float:
        """PD of the first of a mix."""
        return float(self.chip.degradation(members)[0])


def name(program: int) -> str:
    return f"p{program:02}"


def lab(
    random: np.random.Generator,
    targets: tuple[int, ...],
    *,
    programs: int = 24,
    training: int = 120,
    unseen: int = 20,
    metric: str = "cpi",
) -> Lab:
    """Every program alone, twice, and each target in `training` random four-way mixes; `unseen` others stay unmeasured."""
    chip = made(random, programs)
    lines = [HEAD]
    for program in range(programs):
        for _ in range(2):
            seen = random.normal(1, _PRESSURE_ERROR, 2)
            pressure = f"{chip.lines[program] * seen[0]:.6g},{chip.bandwidth[program] * seen[1]:.6g},1"
            told = f"{metric},{_value(metric, 0.0, random):.6g}" if program in targets else ","
            lines.append(f"{PLATFORM},{name(program)},,{told},{pressure}")
    kept: dict[int, list[np.ndarray]] = {}
    for target in targets:
        mixes = _mixes(random, target, programs, training + unseen)
        for members in mixes[:training]:
            value = _value(metric, float(chip.degradation(members)[0]), random)
            beside = ";".join(name(member) for member in members[1:])
            lines.append(f"{PLATFORM},{name(target)},{beside},{metric},{value:.6g},,,")
        kept[target] = mixes[training:]
    return Lab(chip, "\n".join([*lines, ""]), kept)


def _mixes(random: np.random.Generator, target: int, programs: int, count: int) -> list[np.ndarray]:
    """Different mixes of the target with three others."""
    others = np.delete(np.arange(programs), target)
    found: dict[tuple[int, ...], np.ndarray] = {}
    while len(found) < count:
        beside = np.sort(random.choice(others, MIX - 1, replace=False))
        found[tuple(beside.tolist())] = np.array([target, *beside])
    return list(found.values())


def _value(metric: str, degradation: float, random: np.random.Generator) -> float:
    slowness = SOLO_CPI * (1 + degradation) * float(random.normal(1, _RUN_ERROR))
    return 1 / slowness if metric == "ipc" else slowness


__all__ = ["HEAD", "PEAK", "PLATFORM", "Lab", "lab", "name"]
