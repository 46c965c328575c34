"""The base of all answers of queries.

An answer is a frozen dataclass whose fields are the members of the API's JSON, in their order. The same object goes from
the query to the API, the command line and the exporters. pydantic reads the annotations: they describe and limit the
members in the OpenAPI document.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter

Share = Annotated[float, Field(ge=0, le=1)]
"""Part of a whole."""
Difference = Annotated[float, Field(ge=-1, le=1)]
"""One share minus another."""


_A = TypeVar("_A", bound="Answer")


def member(name: str) -> str:
    """The JSON member of a field: `from_` is `from`, which Python reserves."""
    return name.removesuffix("_")


class Answer:
    """Base of all answers: no member beyond those described."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        alias_generator=member,
        ser_json_inf_nan="constants",  # not null: the encoder refuses numbers that are not finite
    )


def extended(kind: Callable[..., _A], base: Answer, **members: Any) -> _A:
    """An answer of type `kind` with the members of `base`, whose type it extends, and its own members."""
    values = _values(type(base))  # type: ignore[arg-type]  # a class is hashable; mypy compares its __hash__
    return kind(*values(base), **members)


@cache
def _values(kind: Any) -> Callable[[Answer], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(kind)))


_adapters: dict[type[Answer], TypeAdapter[Any]] = {}
"""Building one takes milliseconds."""


def adapter(kind: type[Answer]) -> TypeAdapter[Any]:
    """The encoder and decoder of a type of answers."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def as_document(answer: Answer) -> dict[str, Any]:
    """The answer as a dictionary with the members of its JSON."""
    document: dict[str, Any] = adapter(type(answer)).dump_python(answer, mode="json", by_alias=True)
    return document
