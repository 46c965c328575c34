"""What two readers of CSV files have in common: which line is a heading, and a message that says where a mistake is."""

from collections.abc import Sequence


def is_heading(number: int, fields: Sequence[str]) -> bool:
    """Whether a line, from 1, names the columns: the first, if none of its fields begins like a number."""
    return number == 1 and not any(field.strip().lstrip("+-.")[:1].isdigit() for field in fields)


def mistake(number: int, fields: Sequence[str], what: str, wrong: int | None) -> str:
    """A sentence about a line, from 1, that is not `what`; `wrong` is the first column, from 1, that cannot be read."""
    column = (
        f"there are {len(fields)} columns"
        if wrong is None
        else f"column {wrong} is {fields[wrong - 1][:60]!r}"
    )
    return f"Line {number} is no {what}: {','.join(fields)[:60]!r}; {column}."
