"""A recording as one HTML file: flame graph and table, readable without a server or a network."""

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from services.api.formats.stack_profile import StackProfile, Value, display_name
from services.errors import CannotWrite
from services.recording.flame_columns import flame_columns
from storage.query.stacks.function_names import KINDS, STATUSES

BUILT: Final = Path(__file__).parent.parent / "api" / "static" / "profile-page"
"""Script and style of the page, built from webui/profile.html."""


def page(profile: StackProfile) -> Iterator[bytes]:
    """The file. Raises `CannotWrite` if the web UI is not built.

    The page's policy permits exactly its own script and style: a function's name cannot become code.
    """
    # In a script's strings "<\\/script" is the same text, and does not end the element.
    script, style = _built("profile.js").replace(b"</script", rb"<\/script"), _built("profile.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(profile.comments[0])}</title>"
    ).encode()
    yield b"<style>" + style + b'</style></head><body><div id="root"></div>'
    yield b'<script type="application/json" id="profile">'
    # "<" would end the element in a function's name such as "</script>".
    text = json.dumps(_document(profile), separators=(",", ":"), ensure_ascii=False)
    yield text.replace("<", "\\u003c").encode("utf-8", "replace")
    yield b'</script><script type="module">' + script + b"</script></body></html>\n"


def _document(profile: StackProfile) -> dict[str, Any]:
    """The profile as webui/src/profile/document.ts reads it; times are in seconds."""
    columns, timed = flame_columns(profile), profile.unit == "nanoseconds"
    scale = 1e-9 if timed else 1
    functions = [
        [display_name(row), row.file, row.binary, STATUSES[row.status], KINDS[row.kind]]
        for row in profile.table.functions[1:]
    ]
    functions += [[process, "", "", "full", "marker"] for process in columns.processes]
    return {
        "title": profile.comments[0],
        "notes": profile.comments[1:],
        "event": profile.event,
        "unit": "seconds" if timed else profile.unit,
        "samples": int(profile.of(Value.SAMPLES).of_row.sum()),
        "start_ms": profile.start_ns // 1_000_000,
        "seconds": profile.duration_ns / 1e9,
        "functions": functions,
        "parent": columns.parent,
        "function": columns.function,
        "total": [each * scale for each in columns.total],
        "self": [each * scale for each in columns.self],
    }


def _built(name: str) -> bytes:
    try:
        return (BUILT / name).read_bytes()
    except OSError as error:
        raise CannotWrite(
            f"The flame graph's page is missing: {BUILT / name}. Build it with: make web, or write another format, "
            "e.g. -o profile.pb.gz"
        ) from error


def _digest(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
