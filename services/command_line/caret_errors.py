"""Mistakes in what was typed, shown where they are."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich.cells import cell_len

from services.command_line.cli_hints import with_option_names
from storage.errors import BadSelection

_SHOWN = 40
"""Characters shown on either side of a mistake."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An argument as it was given."""

    option: str
    """What it is called on the command line."""
    text: str


@contextmanager
def caret_on_error(typed: Mapping[str, Typed]) -> Iterator[None]:
    """Within it a mistake in one of these texts, by parameter, ends the command with status 1, and is marked by a caret."""
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
    """On one line: for what a terminal does not print a blank or a replacement character."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )
