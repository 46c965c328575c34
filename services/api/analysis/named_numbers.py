"""Names with numbers in a parameter: `checkout:0.1,feed`."""

from storage.errors import BadSelection


def named_numbers(text: str, parameter: str) -> list[tuple[str, float | None]]:
    """`checkout:0.1,feed` as names and their numbers; None: no number. Raises `BadSelection`."""
    found: list[tuple[str, float | None]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.rpartition(":")
        if not colon:
            found.append((part, None))
            continue
        try:
            found.append((name.strip(), float(number)))
        except ValueError as error:
            raise BadSelection(
                f"{number[:40]!r} is not a number.",
                hint=f"For example {parameter}=checkout:2,feed:1.",
                parameter=parameter,
            ) from error
    return found
