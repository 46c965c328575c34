"""Shared by readers of CSV files: detection of a heading, and messages with the position of an error."""

from collections.abc import Sequence


def is_heading(number: int, fields: Sequence[str]) -> bool:
    """Whether a line, from 1, is a heading: the first one, if no field begins like a number."""
    return number == 1 and not any(field.strip().lstrip("+-.")[:1].isdigit() for field in fields)


def mistake(number: int, fields: Sequence[str], what: str, wrong: int | None) -> str:
    """Message about a line, from 1, that is not a `what`; `wrong` is the first invalid column, from 1."""
    column = (
        f"it has {len(fields)} columns" if wrong is None else f"column {wrong} is {fields[wrong - 1][:60]!r}"
    )
    return f"Line {number}: invalid {what} {','.join(fields)[:60]!r}; {column}."
