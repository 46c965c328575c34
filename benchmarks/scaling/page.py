"""Marked regions of the page for generated tables, and the figures that the page names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.scaling.measured import Results, stores
from benchmarks.scaling.servers import server_tables
from benchmarks.scaling.tables import tables

PAGE: Final = Path(__file__).parents[2] / "docs/scaling.md"
_NAMED: Final = re.compile(r"`([\w-]+)\.([\w-]+)`")
_SUFFIXES: Final = frozenset({"py", "md", "json", "html", "toml", "yml"})
"""Suffixes of file names."""


def made(found: Results) -> dict[str, str]:
    """Tables by the names of their regions."""
    return tables(stores(found)) | server_tables(found)


def written(page: str, made: Mapping[str, str]) -> str:
    """The page with these tables in their regions, each between two comments. All other text is unchanged."""
    for name, text in made.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}{text}{end}{after}"
    return page


def unknown(page: str, found: Results) -> list[str]:
    """Figures, named as `result.figure`, that the results lack; ascending. File names are not figures."""
    named = {(name, key) for name, key in _NAMED.findall(page) if key not in _SUFFIXES}
    return sorted(f"{name}.{key}" for name, key in named if key not in found.get(name, ()))
