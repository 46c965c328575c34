"""`python -m benchmarks.scaling`."""

from __future__ import annotations

import sys

from benchmarks.scaling.measured import results
from benchmarks.scaling.page import PAGE, made, unknown, written


def main() -> int:
    """Rewrite the tables of the page; 1 if it names figures that no benchmark measured."""
    found = results()
    page = written(PAGE.read_text(), made(found))
    PAGE.write_text(page)
    for name in unknown(page, found):
        sys.stderr.write(f"{PAGE.name} names {name}, which is not in benchmarks/results.\n")
    return 1 if unknown(page, found) else 0


if __name__ == "__main__":
    sys.exit(main())
