"""The labels that profiles are filtered and grouped by, and the texts of their stored ids.

There are three kinds: columns of `profile` that refer to `dim_value`, the machine, and the keys of `label_set`s (comm,
unit, and the user's). The value of an absent label is the empty text.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.selections.matchers import FRAME_NAMES, Matcher, format_name
from storage.query.selections.near_names import near_name
from storage.schema import DIMENSIONS, dim_value, label_set, machine, profile
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import among
from storage.snapshots.snapshot_cache import cached_per_snapshot

MACHINE = "machine"
_TOGETHER = 1000
"""Values tested between two checks of the query's budget."""
_MOST_SHOWN = 50
_VALUES = select(dim_value.c.value_id, dim_value.c.value).where(dim_value.c.dim == bindparam("dim"))
_EQUAL = _VALUES.where(dim_value.c.value == bindparam("value"))


def user_labels(connection: Connection) -> list[str]:
    """Names of the labels in label sets, sorted."""
    keys = select(func.jsonb_object_keys(label_set.c.labels)).distinct()
    return sorted(connection.execute(keys).scalars())


def check_label(connection: Connection, name: str, *, parameter: str = "by", at: int | None = None) -> None:
    """Raises `BadSelection` for a name that no profile can have: a misspelt name must not look like missing data.

    `parameter` and `at` give the position of the name, for the error.
    """
    if is_column(name, parameter=parameter, at=at):
        return
    if connection.execute(select(label_set.c.label_set_id).where(_value(name).is_not(None)).limit(1)).first():
        return
    others = user_labels(connection)
    # A store without label sets has nothing to compare with yet.
    if others or connection.execute(select(profile.c.day).limit(1)).first():
        raise unknown_label(name, others, parameter=parameter, at=at)


def is_column(name: str, *, parameter: str = "by", at: int | None = None) -> bool:
    """Whether the label is a column of profiles; otherwise label sets may have it.

    Raises `BadSelection` for text that cannot name a label. `parameter` and `at` as for `check_label`.
    """
    if name in DIMENSIONS or name == MACHINE:
        return True
    if not name:
        raise BadSelection("The name of a label is empty.", parameter=parameter, at=at)
    if "\0" in name:  # PostgreSQL does not store NUL in texts
        raise BadSelection("The name of a label has a NUL character.", parameter=parameter, at=at)
    if name in FRAME_NAMES:
        raise BadSelection(
            f"{name!r} is not a label of a profile, but of each of its frames.",
            hint="Use a label of profiles here; labels of frames filter and group samples of stacks.",
            parameter=parameter,
            at=at,
        )
    return False


def unknown_label(name: str, others: Sequence[str], *, parameter: str, at: int | None) -> BadSelection:
    """The error for a label that neither profiles nor label sets have; `others` are the labels of label sets."""
    return BadSelection(
        f"No profile has a label {name!r}.",
        hint=_near(name, (*DIMENSIONS, MACHINE, *FRAME_NAMES), others),
        parameter=parameter,
        at=at,
    )


def _near(name: str, ours: Sequence[str], users: Sequence[str]) -> str:
    """A hint with the most similar label, or with all labels."""
    near = near_name(name, (*ours, *users))
    if near is not None:
        return f"Did you mean {format_name(near)}?"
    shown = [*(label for label in ours if "." not in label), *map(format_name, users[:_MOST_SHOWN])]
    return f"Labels: {', '.join(shown)}{' …' if len(users) > _MOST_SHOWN else ''}."


def condition(connection: Connection, matcher: Matcher) -> ColumnElement[bool]:
    """The matcher as a condition on `profile`, with its text resolved to ids beforehand.

    Raises `BadSelection` for a label that does not exist.
    """
    chosen = choice(connection, matcher)
    among_them = among(profile.c[chosen.column], chosen.ids)
    return ~among_them if chosen.negative else among_them


class Choice(NamedTuple):
    """A matcher as a condition: a column of `profile` has one of some ids, or none of them."""

    column: str
    negative: bool
    ids: list[int]


def choice(connection: Connection, matcher: Matcher) -> Choice:
    """The matcher with its text resolved to ids. Raises `BadSelection` for a label that does not exist."""
    check_label(connection, matcher.label, parameter=matcher.parameter, at=matcher.at)
    return Choice(column_of(matcher.label), matcher.operator.negative, _matching(connection, matcher))


def matching_values(connection: Connection, dimension: str, matchers: Iterable[Matcher]) -> list[int]:
    """Ids of a dimension's values that satisfy all matchers, which must be on that dimension."""
    left: set[int] | None = None
    for matcher in sorted(matchers, key=lambda matcher: matcher.operator.negative):
        found = _matching(connection, matcher)
        if left is None and matcher.operator.negative:
            left = set(
                connection.execute(select(dim_value.c.value_id).where(dim_value.c.dim == dimension)).scalars()
            )
        if left is None:
            left = set(found)
        elif matcher.operator.negative:
            left.difference_update(found)
        else:
            left.intersection_update(found)
    return sorted(left or ())


def values_of(connection: Connection, label: str, ids: Int64) -> list[str]:
    """The texts of ids in the label's column, in their order."""
    distinct = np.unique(ids).tolist()
    if label == MACHINE:
        named = select(machine.c.machine_id, machine.c.name).where(among(machine.c.machine_id, distinct))
    elif label in DIMENSIONS:
        named = select(dim_value.c.value_id, dim_value.c.value).where(among(dim_value.c.value_id, distinct))
    else:
        text_ = _value(label)
        named = select(label_set.c.label_set_id, text_).where(among(label_set.c.label_set_id, distinct))
    known: dict[int, str] = {id_: value or "" for id_, value in connection.execute(named)}
    return [known.get(id_, "") for id_ in ids.tolist()]


def column_of(label: str) -> str:
    """The column of `profile` with a profile's value of the label."""
    if label == MACHINE:
        return "machine_id"
    return label if label in DIMENSIONS else "label_set_id"


@cached_per_snapshot
def _matching(connection: Connection, matcher: Matcher) -> list[int]:
    """Ids of the values that satisfy the matcher's positive form."""
    test = matcher.positive()
    if matcher.label == MACHINE:
        return passing(connection.execute(select(machine.c.machine_id, machine.c.name)), test)
    if matcher.label in DIMENSIONS:
        if matcher.operator.is_pattern:
            return passing(connection.execute(_VALUES, {"dim": matcher.label}), test)
        return passing(connection.execute(_EQUAL, {"dim": matcher.label, "value": matcher.value}), test)
    text_ = _value(matcher.label)
    sets = select(label_set.c.label_set_id, func.coalesce(text_, ""))
    if not matcher.operator.is_pattern:
        has = label_set.c.labels.contains({matcher.label: matcher.value})  # this condition can use the index
        sets = sets.where(or_(has, text_.is_(None))) if matcher.value == "" else sets.where(has)
    return passing(connection.execute(sets), test)


def _value(name: str) -> ColumnElement[str | None]:
    """A label set's value of a name; NULL if it has none."""
    value: ColumnElement[str | None] = label_set.c.labels[name].astext
    return value


def passing(rows: Iterable[Sequence[object]], test: Callable[[str], bool]) -> list[int]:
    """Ids whose value passes the test; each distinct value is tested once."""
    verdicts: dict[str, bool] = {}
    found = []
    for place, (id_, value) in enumerate(rows):
        if place % _TOGETHER == 0:
            query_budget.checkpoint()
        text_ = str(value)
        if text_ not in verdicts:
            verdicts[text_] = test(text_)
        if verdicts[text_]:
            found.append(int(str(id_)))
    return found
