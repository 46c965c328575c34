"""The forms of a route's answer and the choice among them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

from fastapi import Request

from services.api.formats.accept import parse_accept
from services.api.problems import Problem
from storage.query.answers.answer import Answer

_Query_contra = TypeVar("_Query_contra", contravariant=True)
_NAME = "format"
_DOWNLOAD = "download"
STACKS_ONLY: Final = {
    "pprof": "application/x-pprof",
    "collapsed": "text/x-collapsed-stacks",
    "speedscope": "application/vnd.speedscope+json",
}
"""Forms that only answers with stacks have; media types by name."""
_STACKS_ARE: Final = (
    f" Routes with {', '.join(list(STACKS_ONLY)[:-1])} and {list(STACKS_ONLY)[-1]} files: /api/v1/stacks,"
    " /flame, /table, /callers, /call-graph and /lines."
    " Routes with pprof and collapsed files of a comparison: /diff and /flame-diff."
)


@dataclass(frozen=True, slots=True)
class Form(Generic[_Query_contra]):
    """One form of an answer, such as CSV."""

    name: str
    """Name in `?format=`."""
    media_type: str
    extension: str
    """File name extension, without the dot."""
    write: Callable[[_Query_contra], bytes | Iterator[bytes]]
    """Run the query and write the answer. Large answers come in parts; the query runs before the first.

    Raises what the query raises.
    """
    parameters: str = ""
    """Parameters of the media type as sent, e.g. "; charset=utf-8"."""
    packed: bool = False
    """Compressed already."""
    in_parts: bool = False
    """Written part by part while it is sent."""
    answer: type[Answer] | None = None
    """Type of a JSON form that is not the route's first; the route's `described_by` must name it."""

    @property
    def content_type(self) -> str:
        """The media type with its parameters."""
        return self.media_type + self.parameters


@dataclass(frozen=True, slots=True)
class Forms(Generic[_Query_contra]):
    """The forms of an answer. Among equally preferred forms the first is sent."""

    forms: tuple[Form[_Query_contra], ...]

    def __add__(self, others: "Forms[_Query_contra]") -> "Forms[_Query_contra]":
        return Forms(self.forms + others.forms)

    def named(self, name: str) -> Form[_Query_contra]:
        """The form of that name. Raises KeyError."""
        return {form.name: form for form in self.forms}[name]

    def chosen(self, request: Request) -> Form[_Query_contra]:
        """The form of `?format=`, else the one that Accept prefers. Raises the Problems 422 and 406."""
        name = request.query_params.get(_NAME)
        if name is not None:
            for form in self.forms:
                if form.name == name:
                    return form
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"Unknown value {name[:40]!r} of the parameter `{_NAME}`.",
                kind="bad-parameter",
                hint=f"Formats of this route: {_listed([form.name for form in self.forms])}."
                + (_STACKS_ARE if name in STACKS_ONLY else ""),
            )
        accept = parse_accept(", ".join(request.headers.getlist("accept")))
        best = max(self.forms, key=lambda form: accept.quality(form.media_type))
        if accept.quality(best.media_type) > 0:
            return best
        of_stacks = any(accept.quality(media_type) > 0 for media_type in STACKS_ONLY.values())
        raise Problem(
            HTTPStatus.NOT_ACCEPTABLE,
            "This route has none of the media types in Accept.",
            kind="not-acceptable",
            hint=f"Media types of this route: {_listed([form.media_type for form in self.forms])}."
            + (_STACKS_ARE if of_stacks else ""),
            headers={"Vary": "Accept"},
        )

    @property
    def openapi(self) -> dict[str, Any]:
        """For the `openapi_extra` of a route: the forms besides JSON, and the two parameters."""
        return {
            "responses": {
                "200": {
                    "content": {form.media_type: _schema(form) for form in self.forms if form.name != "json"}
                }
            },
            "parameters": [
                {
                    "name": _NAME,
                    "in": "query",
                    "required": False,
                    "description": "Format of the response, for clients that cannot set Accept. It overrides Accept.",
                    "schema": {"type": "string", "enum": [form.name for form in self.forms]},
                },
                {
                    "name": _DOWNLOAD,
                    "in": "query",
                    "required": False,
                    "description": "Let a browser save the response as a file.",
                    "schema": {"type": "boolean", "default": False},
                },
            ],
        }


def file_name(request: Request, form: Form[Any]) -> str | None:
    """The file name of a download; None: the request wants none. Raises the Problem 422."""
    wanted = request.query_params.get(_DOWNLOAD, "false").lower()
    if wanted in {"1", "true", "yes", "on"}:
        route = request.scope.get("route")
        return f"fleetprof-{getattr(route, 'name', 'answer')}.{form.extension}"
    if wanted in {"0", "false", "no", "off"}:
        return None
    raise Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"Invalid value {wanted[:40]!r} of the parameter `{_DOWNLOAD}`: expected true or false.",
        kind="bad-parameter",
        hint="Set download=1 or download=0.",
    )


def _schema(form: Form[Any]) -> dict[str, Any]:
    if form.answer is not None:
        return {"schema": {"$ref": f"#/components/schemas/{form.answer.__name__}"}}
    text = form.media_type.startswith("text/") or form.media_type.endswith("+json")
    return {"schema": {"type": "string"} if text else {"type": "string", "format": "binary"}}


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
