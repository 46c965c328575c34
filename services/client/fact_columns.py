"""Facts as columns: one row for each stack of each profile of each visit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from services.client.errors import NeedsPackage

if TYPE_CHECKING:
    from services.client.visit import Visit

_VISIT: Final = ("visit_id", "machine", "day", "drawn_at", "weight")
_FACT: Final = ("segment", "function", "file", "binary", "stack", "samples", "units", "estimate")
COLUMNS: Final = (*_VISIT, *_FACT)
"""The columns before those of the labels, which are called `label.NAME`."""
_LABEL: Final = "label."


class Facts:
    """Rows of many visits.

    | column | |
    |---|---|
    | visit_id, machine | text |
    | day, drawn_at | UTC: datetime64[D], datetime64[us] |
    | weight | float64, units of the fleet for one unit observed |
    | segment | int64, index in the capture |
    | function, file, binary | of the leaf, the innermost function |
    | stack | names of functions, leaf first: a tuple, in Arrow a list |
    | samples, units | int64, units = samples × period |
    | estimate | float64, units × weight |
    | label.NAME | text; "" where the profile has no such label |
    """

    def __init__(self) -> None:
        self._rows = 0
        self._visits: list[tuple[int, Visit, float]] = []
        self._labels: dict[str, dict[int, tuple[int, str]]] = {}
        """By label name and first row: the number of rows and their value."""
        self._fact: dict[str, list[Any]] = {name: [] for name in _FACT}

    def add(self, visit: Visit, weight: float) -> None:
        """Append the rows of one visit."""
        functions, first = visit.functions, self._rows
        names = [tuple(functions[i].name for i in stack) for stack in visit.stacks]
        leaves = [functions[stack[0]] if stack else None for stack in visit.stacks]
        fact = self._fact
        for profile in visit.profiles:
            stacks = profile.stack.tolist()
            for name, value in profile.labels.items():
                self._labels.setdefault(name, {})[self._rows] = (len(stacks), value)
            units = profile.samples * profile.period
            fact["segment"] += [profile.segment] * len(stacks)
            for column in ("function", "file", "binary"):
                attribute = "name" if column == "function" else column
                fact[column] += [getattr(leaves[i], attribute, "") for i in stacks]
            fact["stack"] += [names[i] for i in stacks]
            fact["samples"] += profile.samples.tolist()
            fact["units"] += units.tolist()
            fact["estimate"] += (units * weight).tolist()
            self._rows += len(stacks)
        self._visits.append((self._rows - first, visit, weight))

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Columns by name. Texts and stacks have dtype object."""
        counts = [count for count, _, _ in self._visits]
        visits = [visit for _, visit, _ in self._visits]

        def of_visits(values: list[Any], kind: Any) -> npt.NDArray[Any]:
            return np.repeat(np.array(values, kind), counts)

        return {
            "visit_id": of_visits([visit.id for visit in visits], object),
            "machine": of_visits([visit.machine for visit in visits], object),
            "day": of_visits([visit.day for visit in visits], "datetime64[D]"),
            "drawn_at": of_visits(
                [visit.drawn_at.replace(tzinfo=None) for visit in visits], "datetime64[us]"
            ),
            "weight": of_visits([weight for _, _, weight in self._visits], np.float64),
            "segment": np.array(self._fact["segment"], np.int64),
            **{name: _objects(self._fact[name]) for name in ("function", "file", "binary", "stack")},
            "samples": np.array(self._fact["samples"], np.int64),
            "units": np.array(self._fact["units"], np.int64),
            "estimate": np.array(self._fact["estimate"], np.float64),
            **{f"{_LABEL}{name}": self._label(name) for name in sorted(self._labels)},
        }

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Raises `NeedsPackage`."""
        pandas = _needed("pandas", "data frames")
        return pandas.DataFrame(self.to_numpy())

    def to_arrow(self) -> Any:
        """A pyarrow.Table; text is dictionary-encoded. Raises `NeedsPackage`."""
        arrow = _needed("pyarrow", "Arrow tables")
        columns = {}
        for name, column in self.to_numpy().items():
            if name == "stack":
                columns[name] = arrow.array(
                    [list(stack) for stack in column], type=arrow.list_(arrow.string())
                )
            elif column.dtype == object:
                columns[name] = arrow.array(column, type=arrow.string()).dictionary_encode()
            else:
                columns[name] = arrow.array(column)
        return arrow.table(columns)

    def _label(self, name: str) -> npt.NDArray[Any]:
        column = np.full(self._rows, "", object)
        for first, (count, value) in self._labels[name].items():
            column[first : first + count] = value
        return column


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """An object array. `np.array` would make tuples of equal length a two-dimensional one."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def _needed(package: str, what: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise NeedsPackage(f"{what} need {package}: pip install {package}") from error
