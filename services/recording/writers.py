"""The files of a recording, by suffix."""

from collections.abc import Callable, Iterable
from pathlib import Path

import typer

from services.api.formats import collapsed, pprof, speedscope
from services.api.formats.stack_profile import StackProfile, Value
from services.recording.profile_page import page

Writer = Callable[[StackProfile], Iterable[bytes]]

_WRITERS: dict[str, Writer] = {
    ".pb.gz": pprof.packed,
    ".pprof": pprof.packed,
    ".html": page,
    ".collapsed": lambda profile: collapsed.lines(profile, Value.OBSERVED),
    ".folded": lambda profile: collapsed.lines(profile, Value.OBSERVED),
    ".speedscope.json": lambda profile: speedscope.parts(profile, Value.OBSERVED),
}


def writer_of(path: Path) -> Writer:
    """The writer of the format that the file's name ends in. Raises typer.BadParameter."""
    for suffix, writer in _WRITERS.items():
        if path.name.endswith(suffix):
            return writer
    raise typer.BadParameter(
        f"{path} has no known suffix. Formats: {', '.join(_WRITERS)}.", param_hint="--output"
    )
