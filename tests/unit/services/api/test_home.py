"""GIVEN the web UI's first page WHEN its questions are asked ahead THEN word for word as the page asks them."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

from services.api.auth import Access
from services.api.formats.accept import best_coding
from services.api.home import HOME, home_requests

SOURCES = Path(__file__).parents[4] / "webui/src"


def home() -> dict[str, str]:
    """What the page begins with, by parameter."""
    text = (SOURCES / "selection/place.ts").read_text()
    body = text.partition("export const HOME")[2].partition("};")[0]
    return dict(re.findall(r"^  (\w+): '([^']*)',", body, re.MULTILINE))


def number(name: str) -> str:
    """A constant of the page's questions."""
    found = re.search(rf"^const {name} = ([0-9_]+);", (SOURCES / "api/queries.ts").read_text(), re.MULTILINE)
    assert found is not None, name
    return found[1].replace("_", "")


def test_they_are_what_the_page_asks():
    place = home()
    selection = [(name, place[name]) for name in ("event", "from", "to", "campaign")]
    assert {path: parse_qsl(query) for path, query, _ in HOME} == {
        "/api/v1/table": [
            *selection,
            *((name, place[name]) for name in ("by", "sort")),
            ("limit", number("PAGE")),
            ("offset", "0"),
        ],
        "/api/v1/flame": [*selection, ("nodes", number("FLAME_NODES"))],
    }
    assert place["view"] == "both", "the page asks both"
    (media_type,) = re.findall(r"FLAME_MEDIA_TYPE = '([^']+)'", (SOURCES / "flame/decode.ts").read_text())
    assert [accept for _, _, accept in HOME] == ["*/*", media_type]


def test_they_are_asked_by_a_session_of_this_process(tmp_path: Path):
    access = Access(tmp_path)
    for scope in home_requests(access):
        name, _, value = dict(scope["headers"])[b"cookie"].decode().partition("=")
        assert name == "fleetprof_session"
        assert access.role_of_session(value) is not None


def test_each_is_asked_once_for_all_codings(tmp_path: Path):
    scopes = home_requests(Access(tmp_path))
    codings = [best_coding(dict(scope["headers"])[b"accept-encoding"].decode()) for scope in scopes]
    assert codings == ["zstd"] * len(HOME)
