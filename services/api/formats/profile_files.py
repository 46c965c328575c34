"""The files of stacks that other profilers' tools open, as forms of an answer."""

from collections.abc import Callable
from typing import TypeVar

from services.api.formats import collapsed, pprof, speedscope
from services.api.formats.forms import Form
from services.api.formats.stack_profile import StackProfile, Value

_Asked = TypeVar("_Asked")


def forms(
    profile: Callable[[_Asked], StackProfile], value: Callable[[_Asked], Value]
) -> tuple[Form[_Asked], ...]:
    """pprof, collapsed and speedscope. `profile` asks, before the first part is written.

    `value` says what those count in that have one number for each stack.
    """
    return (
        Form(
            "pprof",
            pprof.MEDIA_TYPE,
            "pb.gz",
            lambda asked: pprof.packed(profile(asked)),
            packed=True,
            in_parts=True,
        ),
        Form(
            "collapsed",
            collapsed.MEDIA_TYPE,
            "collapsed.txt",
            lambda asked: collapsed.lines(profile(asked), value(asked)),
            parameters="; charset=utf-8",
            in_parts=True,
        ),
        Form(
            "speedscope",
            speedscope.MEDIA_TYPE,
            "speedscope.json",
            lambda asked: speedscope.parts(profile(asked), value(asked)),
            in_parts=True,
        ),
    )
