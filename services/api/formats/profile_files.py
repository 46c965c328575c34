"""Files of stacks for other profilers' tools, as forms of an answer."""

from collections.abc import Callable
from typing import TypeVar

from services.api.formats import collapsed, pprof, speedscope
from services.api.formats.forms import Form
from services.api.formats.stack_profile import StackProfile, Value

_Query = TypeVar("_Query")


def forms(
    profile: Callable[[_Query], StackProfile], value: Callable[[_Query], Value]
) -> tuple[Form[_Query], ...]:
    """The forms pprof, collapsed and speedscope. `profile` runs the query, before the first part is written.

    `value` returns the unit of the formats with one number per stack.
    """
    return (
        Form(
            "pprof",
            pprof.MEDIA_TYPE,
            "pb.gz",
            lambda query: pprof.packed(profile(query)),
            packed=True,
            in_parts=True,
        ),
        Form(
            "collapsed",
            collapsed.MEDIA_TYPE,
            "collapsed.txt",
            lambda query: collapsed.lines(profile(query), value(query)),
            parameters="; charset=utf-8",
            in_parts=True,
        ),
        Form(
            "speedscope",
            speedscope.MEDIA_TYPE,
            "speedscope.json",
            lambda query: speedscope.parts(profile(query), value(query)),
            in_parts=True,
        ),
    )
