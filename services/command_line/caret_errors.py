"""Errors in arguments, shown with a caret at their position."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich.cells import cell_len

from services.command_line.cli_hints import with_option_names
from storage.errors import BadSelection

_SHOWN = 40
"""Characters shown on either side of an error."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An argument as typed."""

    option: str
    """Its name on the command line."""
    text: str


@contextmanager
def caret_on_error(typed: Mapping[str, Typed]) -> Iterator[None]:
    """End the command with status 1 for an error in one of these texts (by parameter), and mark it with a caret."""
    try:
        yield
    except BadSelection as error:
        typer.secho(f"fleetprof: {error}", err=True, fg="red")
        where = typed.get(error.parameter)
        if where is not None and error.at is not None:
            typer.echo(f"{where.option}:\n{with_caret(where.text, error.at)}", err=True)
        if error.hint:
            called = {name: each.option for name, each in typed.items()}
            typer.echo(with_option_names(error.hint, called), err=True)
        raise typer.Exit(1) from error


def with_caret(text: str, at: int) -> str:
    """The text around a character, and a caret below it; `at` may be the end."""
    low, high = max(at - _SHOWN, 0), at + _SHOWN
    before = f"{'…' if low else ''}{_visible(text[low:at])}"
    after = f"{_visible(text[at:high])}{'…' if high < len(text) else ''}"
    return f"  {before}{after}\n  {' ' * cell_len(before)}^"


def _visible(text: str) -> str:
    """The text on one line: whitespace becomes a blank, other nonprintable characters the replacement character."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )
