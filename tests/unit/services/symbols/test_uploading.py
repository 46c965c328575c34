"""GIVEN a repository WHEN many files are uploaded THEN only what is new is sent, and one refusal stops no other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from services.errors import ApiRefused
from services.symbols import uploading
from services.symbols.errors import UnusableFile
from services.symbols.symbol_files import LocalFile
from services.symbols.uploading import Known, Refused, Sent, follow, upload


@dataclass
class Repository:
    """A `SymbolAccess` in memory; refuses files whose content begins with `bad`."""

    stored: dict[bytes, bool] = field(default_factory=dict)
    """SHA-256 → rejected."""
    allowed: bool = True
    asked: list[int] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    reprocessings: list[Any] = field(default_factory=list)
    """What `show` says, one after the other."""

    def known(self, sha256s: Sequence[bytes]) -> dict[str, Any]:
        self.asked.append(len(sha256s))
        rows = [
            {"sha256": digest.hex(), "rejected": "It was bad." if self.stored[digest] else None}
            for digest in sha256s
            if digest in self.stored
        ]
        return {"files": rows, "upload": {"allowed": self.allowed, "largest_bytes": 1000}}

    def upload(self, file: LocalFile, *, sent) -> dict[str, Any]:
        content = file.path.read_bytes()
        if content.startswith(b"away"):
            raise ApiRefused("The API does not answer.", 0)
        if content.startswith(b"bad"):
            raise UnusableFile(f"{file.name}: It is not an ELF file.")
        sent(len(content))
        self.sent.append(file.name)
        return {"file": {"key": content.decode()}, "best": True, "seen": True, "reprocessing_before": 4}

    def show(self, key: str) -> dict[str, Any]:
        return {"binary": {"reprocessing": self.reprocessings.pop(0) if self.reprocessings else None}}


def files(folder: Path, *contents: str) -> list[LocalFile]:
    found = []
    for number, content in enumerate(contents):
        path = folder / f"{number}"
        path.write_text(content)
        found.append(LocalFile(path, len(content)))
    return found


def test_what_is_stored_is_not_sent_again(tmp_path: Path):
    some = files(tmp_path, "a", "b", "b", "c")
    repository = Repository({some[0].sha256(): False, some[3].sha256(): True})
    events = list(upload(repository, some))
    assert [type(event) for event in events] == [Known, Sent, Sent]
    assert repository.sent == ["1", "3"], "the same content once; what was rejected is brought again"


def test_one_refusal_stops_no_other(tmp_path: Path):
    some = files(tmp_path, "bad", "x" * 2000, "good")
    some.append(LocalFile(tmp_path / "gone", 1))
    events = list(upload(Repository(), some))
    refused = {event.file.name: event.why for event in events if isinstance(event, Refused)}
    assert set(refused) == {"0", "1", "gone"}
    assert "1,000" in refused["1"]
    assert [event.file.name for event in events if isinstance(event, Sent)] == ["2"]


def test_files_are_asked_about_by_the_hundred(tmp_path: Path):
    repository = Repository()
    assert len(list(upload(repository, files(tmp_path, *map(str, range(230)))))) == 230
    assert repository.asked == [100, 100, 30]


def test_where_none_can_be_taken_it_ends_at_once(tmp_path: Path):
    with pytest.raises(ApiRefused, match="operator"):
        list(upload(Repository(allowed=False), files(tmp_path, "a")))
    with pytest.raises(ApiRefused, match="does not answer"):
        list(upload(Repository(), files(tmp_path, "away", "b")))


def test_consequences_are_followed_to_their_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploading, "_POLL_S", 0)
    old = {"id": 4, "captures": 9, "left": 0, "renamed": 1}
    new = {"id": 5, "captures": 9, "left": 6, "renamed": 3}
    repository = Repository(reprocessings=[None, old, new, {**new, "left": 0}])
    answer = {"file": {"key": "aa"}, "best": True, "seen": True, "reprocessing_before": 4}
    seen = [(set(f.waiting), f.left, f.renamed) for f in follow(repository, [answer], seconds=60)]
    assert seen == [({"aa"}, 0, 0), ({"aa"}, 0, 0), (set(), 6, 3), (set(), 0, 3)]


def test_nothing_is_waited_for_where_nothing_comes():
    worse = {"file": {"key": "aa"}, "best": False, "seen": True, "reprocessing_before": 0}
    unseen = {"file": {"key": "bb"}, "best": True, "seen": False, "reprocessing_before": 0}
    assert list(follow(Repository(), [worse, unseen], seconds=60)) == []
