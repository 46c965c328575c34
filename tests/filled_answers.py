"""Answers with zeros, empty texts and Nones wherever a test says nothing."""

from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from storage.query.answers.answer import Answer

_Answer = TypeVar("_Answer", bound=Answer)
_EMPTY = {str: "", int: 0, float: 0.0, bool: False}


def filled(kind: type[_Answer], **members: Any) -> _Answer:
    """An answer of this type with these members."""
    hints = get_type_hints(kind)
    return kind(**{field.name: _nothing(hints[field.name]) for field in fields(kind)} | members)


def _nothing(annotation: Any) -> Any:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _nothing(parts[0])
    if NoneType in parts:
        return None
    if origin is Literal:
        return parts[0]
    if is_dataclass(annotation):
        return filled(annotation)
    return _EMPTY[annotation] if annotation in _EMPTY else origin()
