"""A document's flat rows as typed columns.

Columns and types are derived from the answer's types and never from values: an answer without rows has the
same columns as one with rows. A member that is a model becomes columns with dotted names (`self_core_seconds.value`).
`key`, whose members depend on the query, becomes one column per member (`function`, `application`), named `key.total`
if the rows have a column of that name.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from storage.query.answers.answer import Answer, member

Json = dict[str, Any]
METADATA = b"fleetprof"
"""The key of a table's metadata: the document without its rows, as JSON."""
_TEXT = pa.dictionary(pa.int32(), pa.string())
_KEY = "key"
_MEMBERS = {"function": ("function", "file", "binary", "status", "kind")}
"""The members of a row's `key` that a key of `by` adds, if not one of its own name."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its place in a row, and its type."""

    name: str
    path: tuple[str, ...]
    type: pa.DataType
    of_key: bool = False
    """A member of `key`."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The location of a document's rows, and their model.

    `path` names a list in the document and optionally a list within its rows: `("labels", "values")` makes one row per
    value, with the members of its label first. Empty: the document is one row.
    """

    model: type[Answer]
    path: tuple[str, ...]

    def table(self, document: Json) -> pa.Table:
        """The rows as columns; the rest of the document is the table's metadata."""
        keys = _key_names(document, self._lists(document)) if self._has_key() else ()
        columns = self.columns(keys)
        rows = self._rows(document)
        arrays = [_array([_at(row, column.path) for row in rows], column.type) for column in columns]
        rest = {name: value for name, value in document.items() if not self.path or name != self.path[0]}
        text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        fields = [pa.field(column.name, column.type) for column in columns]
        return pa.Table.from_arrays(
            arrays, schema=pa.schema(fields, metadata={METADATA: text.encode("utf-8", "replace")})
        )

    def columns(self, keys: Sequence[str] = ()) -> list[Column]:
        """The columns; `keys` are the members of `key`. Raises TypeError for a member that no column type can hold."""
        models = self._models()
        inner = {*self.path[1:]}
        columns: list[Column] = []
        for model in models:
            columns += _columns_of(model, (), keys, leave_out=inner)
        own = [column.name for column in columns if not column.of_key]
        if len(set(own)) < len(own):
            raise TypeError(f"Two columns of {self.model.__name__} have one name.")
        return [
            replace(column, name=f"{_KEY}.{column.name}") if column.of_key and column.name in own else column
            for column in columns
        ]

    def _lists(self, document: Json) -> list[Json]:
        return document[self.path[0]] if self.path else [document]

    def _rows(self, document: Json) -> list[Json]:
        rows = self._lists(document)
        for inner in self.path[1:]:
            rows = [{**_without(row, inner), **one} for row in rows for one in row[inner]]
        return rows

    def _models(self) -> list[type[Answer]]:
        """The models that make up a row, the outermost first."""
        models = [self.model]
        for name in self.path:
            item = _item(_members(models[-1])[name])
            if item is None:
                raise TypeError(f"{models[-1].__name__}.{name} is not a list of models.")
            models.append(item)
        return models[1:] if self.path else models

    def _has_key(self) -> bool:
        return any(_KEY in _members(model) for model in self._models())


def _columns_of(
    model: type[Answer], path: tuple[str, ...], keys: Sequence[str], leave_out: Iterable[str] = ()
) -> list[Column]:
    columns = []
    for name, annotation in _members(model).items():
        here = (*path, name)
        if name in leave_out:
            continue
        if name == _KEY and get_origin(annotation) is dict:
            columns += [Column(key, (*here, key), _TEXT, of_key=True) for key in keys]
        elif _is_model(annotation):
            columns += _columns_of(annotation, here, keys)
        else:
            columns.append(Column(".".join(here), here, arrow_type(annotation)))
    return columns


def arrow_type(annotation: Any) -> pa.DataType:
    """The column type of such values; texts are dictionary-encoded. Raises TypeError."""
    annotation = _not_none(annotation)
    origin = get_origin(annotation)
    if _is_model(annotation):
        return pa.struct([(name, _inner(of)) for name, of in _members(annotation).items()])
    if origin in {list, tuple}:
        return pa.list_(_inner(get_args(annotation)[0]))
    if origin is dict:
        return pa.map_(pa.string(), _inner(get_args(annotation)[1]))
    if origin is Literal:
        annotation = type(get_args(annotation)[0])
    types = {str: _TEXT, bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    for known, made in types.items():
        if isinstance(annotation, type) and issubclass(annotation, known):
            return made
    raise TypeError(f"No column holds {annotation!r}.")


def _inner(annotation: Any) -> pa.DataType:
    """The type within lists and structures, where texts are plain strings."""
    found = arrow_type(annotation)
    return pa.string() if found == _TEXT else found


def _array(values: list[Any], kind: pa.DataType) -> "pa.Array[Any]":
    if kind == _TEXT:
        return pa.array([_unicode(value) for value in values], pa.string()).dictionary_encode()
    if pa.types.is_nested(kind):
        return pa.array(_all_unicode(values), kind)
    return pa.array(values, kind)


def _unicode(text: str | None) -> str | None:
    # A lone surrogate comes from a file name that is not Unicode; it is replaced as in JSON.
    return text if text is None or text.isascii() else text.encode("utf-8", "replace").decode()


def _all_unicode(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _key_names(document: Json, rows: Sequence[Json]) -> tuple[str, ...]:
    """The members of `key`: those of `by`, and any others in the rows."""
    names = dict.fromkeys(name for key in document.get("by", ()) for name in _MEMBERS.get(key, (key,)))
    names |= dict.fromkeys(name for row in rows for name in row.get(_KEY, ()))
    return tuple(names)


def _at(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        row = None if row is None else row.get(name)
    return row


def _without(row: Json, name: str) -> Json:
    return {member: value for member, value in row.items() if member != name}


def _not_none(annotation: Any) -> Any:
    if get_origin(annotation) in {Union, UnionType}:
        left = [one for one in get_args(annotation) if one is not NoneType]
        if len(left) == 1:
            return left[0]
    return annotation


def _item(annotation: Any) -> type[Answer] | None:
    annotation = _not_none(annotation)
    item = get_args(annotation)[0] if get_origin(annotation) in {list, tuple} else None
    return item if _is_model(item) else None


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Answer)


def _members(model: type[Answer]) -> dict[str, Any]:
    """The members of an answer's JSON and their types, without None."""
    hints = get_type_hints(model)
    return {member(field.name): _not_none(hints[field.name]) for field in fields(model)}  # type: ignore[arg-type]  # every answer is a dataclass
