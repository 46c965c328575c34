"""Uploads and their effects on a terminal: a bar for work in progress, a line for each result."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from services.symbols.access import SymbolAccess
from services.symbols.symbol_files import LocalFile
from services.symbols.terminal_tables import progress as reprocessing_progress
from services.symbols.terminal_tables import recognised, short
from services.symbols.uploading import Followed, Known, Refused, Sending, Sent, follow, upload
from storage.symbols.keys import sentence

Json = dict[str, Any]
_KNOWN_SHOWN: Final = 20
"""Lines for files that were stored already; further ones are only counted, since a build may have thousands."""


class _Bar(Sending):
    """The progress bar of the current file."""

    def __init__(self, progress: Progress, files: int) -> None:
        self._progress = progress
        self._files = progress.add_task("files", total=files)
        self._bytes = progress.add_task("", total=None, visible=False)

    def begin(self, file: LocalFile) -> None:
        self._progress.reset(
            self._bytes, total=max(file.size, 1), description=Text(file.name).markup, visible=True
        )

    def sent(self, count: int) -> None:
        self._progress.update(self._bytes, completed=count)

    def done(self) -> None:
        """Count one more file."""
        self._progress.update(self._bytes, visible=False)
        self._progress.advance(self._files)


def show_uploads(
    access: SymbolAccess, files: Sequence[LocalFile], console: Console
) -> list[Known | Sent | Refused]:
    """Upload and print a line for each; returns the results."""
    events: list[Known | Sent | Refused] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = _Bar(progress, len(files))
        for event in upload(access, files, bar):
            bar.done()
            events.append(event)
            known = sum(isinstance(one, Known) for one in events)
            if not isinstance(event, Known) or known <= _KNOWN_SHOWN:
                _print(console, event)
    known = sum(isinstance(event, Known) for event in events)
    if known > _KNOWN_SHOWN:
        console.print(f"{known - _KNOWN_SHOWN:,} more were already stored.", style="dim")
    return events


def show_consequences(
    access: SymbolAccess, answers: Sequence[Json], console: Console, *, seconds: float
) -> None:
    """Follow the effects of uploads and print them."""
    shown: set[str] = set()
    last: Followed | None = None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("naming functions", total=None)
        for last in follow(access, answers, seconds=seconds):
            for key, reprocessing in last.reprocessings.items():
                if key not in shown and reprocessing["renamed"]:
                    shown.add(key)
                    console.print(f"{short(key)}: {reprocessing['renamed']:,} functions named.")
            if last.captures:
                progress.update(
                    task,
                    description="reprocessing captures",
                    total=last.captures,
                    completed=last.captures - last.left,
                )
    if last is None:
        return
    for key, reprocessing in last.reprocessings.items():
        console.print(f"{short(key)}: {reprocessing_progress(reprocessing)}.")
    for key in sorted(last.waiting):
        console.print(f"{short(key)}: no effect yet. Show it: fleetprof symbols show {key}", style="dim")
    if last.left:
        console.print(
            "Reprocessing continues in the background. Show it: fleetprof symbols reprocessings", style="dim"
        )


def _print(console: Console, event: Known | Sent | Refused) -> None:
    name = sentence(str(event.file.path))
    match event:
        case Refused():
            # The reason often begins with the file's name, which the line has already.
            why = sentence(event.why.removeprefix(f"{event.file.name}: "))
            console.print(Text(f"✗ {name}: {why}", style="red"), soft_wrap=True)
        case Known():
            what = "; ".join(recognised(row) for row in event.rows)
            console.print(Text(f"= {name}: {what}; already stored", style="dim"), soft_wrap=True)
        case Sent():
            console.print(Text(f"✓ {name}: {recognised(event.answer['file'])}"), soft_wrap=True)
            for note in event.answer["notes"]:
                console.print(Text(f"  {sentence(note)}", style="dim"), soft_wrap=True)
