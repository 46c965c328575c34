"""GIVEN a file with terminal escapes in its names WHEN it is described THEN none reaches the terminal."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from services.symbols import upload_progress
from services.symbols.inspection_report import described
from services.symbols.symbol_files import LocalFile
from services.symbols.uploading import Refused, Sent
from symbolizer.elf.links import AltLink, DebugLink
from symbolizer.inspection.inspection import inspect

ESCAPE = "\x1b]0;owned\x07\udcff"


def printed(*shown: object) -> str:
    out = StringIO()
    console = Console(file=out, highlight=False, width=200)
    for one in shown:
        if isinstance(one, Refused | Sent):
            upload_progress._print(console, one)
        else:
            console.print(one)
    text = out.getvalue()
    text.encode()
    return text


def test_names_in_a_file_are_shown_without_escapes(tmp_path: Path) -> None:
    found = replace(
        inspect(b"ffffffff81000000 T _stext\nffffffff81000040 t second\n"),
        producer=f"gcc{ESCAPE}",
        split_name=f"a{ESCAPE}.dwo",
        debug_link=DebugLink(f"b{ESCAPE}", 1),
        alt_link=AltLink(f"c{ESCAPE}", b"\x01"),
    )
    text = printed(described(tmp_path / f"d{ESCAPE}", found))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert all(name in text for name in ("gcc", ".dwo", "owned"))


def test_what_became_of_uploads_is_shown_without_escapes(tmp_path: Path) -> None:
    file = LocalFile(tmp_path / f"d{ESCAPE}", 1)
    row = {"key": "aa", "kind": "executable", "quality": "dwarf"}
    text = printed(
        Refused(file, f"{file.name}: It is {ESCAPE}."),
        Sent(file, {"file": row, "notes": [f"dwz moved a part of it to {ESCAPE}"]}),
    )
    assert "\x1b" not in text
    assert text.count("]0;owned") == 4
