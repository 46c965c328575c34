"""The columns of a file of experiments and their valid values.

docs/models.md shows a file. Column names contain units, because the common mistake is a factor of a thousand.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final

from analysis.interference.experiments import Metric

PLATFORM, TARGET, BESIDE, METRIC, VALUE = "platform", "target", "beside", "metric", "value"
LINES, GIGABYTES, CORES = "mlines_per_s", "gb_per_s", "cores"
COLUMNS: Final = (PLATFORM, TARGET, BESIDE, METRIC, VALUE, LINES, GIGABYTES, CORES)
OPTIONAL: Final = frozenset({CORES})
MOST_NEIGHBOURS: Final = 100
_LONGEST: Final = 500
_BETWEEN: Final = ";"
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    VALUE: (1e-9, 1e9),
    LINES: (0.0, 1e6),
    GIGABYTES: (0.0, 1e5),
    CORES: (0.001, 1e4),
}
"""Far beyond any machine: a value outside is in another unit."""
_MEANT: Final[Mapping[str, str]] = {
    VALUE: "write the metric's value: seconds, cycles per instruction, or instructions per cycle",
    LINES: "write the millions of lines per second that the run alone loaded into the shared cache",
    GIGABYTES: "write the GB/s that the run alone read from memory and wrote to it",
    CORES: "write the number of cores that the run alone kept busy, or leave it empty for 1",
}


class Wrong(Exception):
    """A field that cannot be read: its fault, and what to write instead."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what)
        self.what = what
        self.instead = instead


def name_of(text: str) -> str:
    """A platform's or an application's name. Raises Wrong."""
    if not text:
        raise Wrong("it is empty", "write a name")
    return _checked(text)


def application_of(text: str) -> str:
    """An application's name that queries can contain. Raises Wrong."""
    name = name_of(text)
    if "," in name or _BETWEEN in name:
        raise Wrong(f"{shown(name)} has a comma or a semicolon, which separate names", "write another name")
    if ":" in name:
        what = f"{shown(name)} has a colon, which separates a name from a number in queries (feed:4)"
        raise Wrong(what, "write another name, with a dash for example")
    return name


def beside_of(text: str) -> tuple[str, ...]:
    """The neighbours' names, separated by semicolons; (): none. Raises Wrong."""
    if not text:
        return ()
    names = tuple(part.strip() for part in text.split(_BETWEEN))
    if len(names) > MOST_NEIGHBOURS:
        raise Wrong(f"there are {len(names)} neighbours", f"write at most {MOST_NEIGHBOURS}")
    if "" in names:
        raise Wrong(f"{shown(text)} has an empty name", "write feed;etl, without a semicolon at either end")
    return tuple(map(application_of, names))


def metric_of(text: str) -> Metric | None:
    """The metric of the value; None: there is none. Raises Wrong."""
    if not text:
        return None
    try:
        return Metric(text)
    except ValueError:
        raise Wrong(
            f"{shown(text)} is not a metric", f"write one of {', '.join(Metric)}, in lower case"
        ) from None


def number_of(column: str) -> Callable[[str], float | None]:
    """A parser of a numeric column: a number in its range, None for an empty field. Raises Wrong."""
    least, most = _RANGES[column]

    def read(text: str) -> float | None:
        if not text:
            return None
        try:
            number = float(text) if text.isascii() and "_" not in text else None
        except ValueError:
            number = None
        if number is None:
            hint = f"{_MEANT[column]}, with a point for decimals and no unit"
            raise Wrong(f"{shown(text)} is not a number", hint)
        if not isfinite(number):
            raise Wrong(
                f"{shown(text)} is not a finite number", f"{_MEANT[column]}; leave out a run that has none"
            )
        if not least <= number <= most:
            raise Wrong(f"{shown(text)} is not between {least:g} and {most:g}", _MEANT[column])
        return number

    return read


def shown(text: str) -> str:
    """A piece of a file, shortened for a message."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def _checked(text: str) -> str:
    if len(text) > _LONGEST:
        raise Wrong(f"{shown(text)} has {len(text):,} characters", f"write at most {_LONGEST}")
    # Control characters, also those of eight bits, change a terminal's state, and direction overrides disguise names.
    if not text.isprintable():
        raise Wrong(f"{shown(text)} has characters that cannot be printed", "remove them")
    return text
