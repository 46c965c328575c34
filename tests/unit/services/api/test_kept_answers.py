"""GIVEN an answer of a moment ago WHEN the same is asked THEN it is given again, for as long as was promised."""

import gzip
from collections.abc import Callable
from random import Random
from urllib.parse import quote

import pytest
import zstandard
from fastapi import Request, Response

from services.api import parcel
from services.api.formats.accept import Coding
from services.api.kept_answers import WARMED, KeptAnswers
from services.api.replies import packed_by, zipped
from tests.asked_again import Clock, answer, request


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(clock: Clock) -> KeptAnswers:
    return KeptAnswers(100_000, fresh_s=10.0, clock=clock)


def test_it_is_given_again_until_it_is_too_old(kept: KeptAnswers, clock: Clock):
    assert kept.answer(request()) is None
    kept.keep(request(), answer(b"1"), asked_at=100.0)
    clock.now = 110.0
    again = kept.answer(request())
    assert again is not None
    assert again.body == b"1"
    assert again.headers["cache-control"] == "no-store"
    assert again.headers["server-timing"] == 'kept;desc="10.0 s old"'
    assert again.headers["content-type"] == "application/json"
    clock.now = 110.1
    assert kept.answer(request()) is None
    assert (kept.hits, kept.misses) == (1, 2)


def test_age_counts_from_the_question_on(kept: KeptAnswers, clock: Clock):
    clock.now = 108.0  # it took eight seconds
    kept.keep(request(), answer(), asked_at=100.0)
    assert kept.answer(request()) is not None
    clock.now = 111.0
    assert kept.answer(request()) is None


@pytest.mark.parametrize(
    "other",
    [
        request("from=now-2h"),
        request(accept="text/csv"),
        request(cache_control="no-cache"),
    ],
)
def test_another_question_or_form_is_another_answer(kept: KeptAnswers, other: Request):
    kept.keep(request(), answer(), asked_at=100.0)
    assert kept.answer(other) is None


def test_who_has_it_already_is_told_so(kept: KeptAnswers):
    first = kept.keep(request(), answer(b"long"), asked_at=100.0)
    tag = first.headers["etag"]
    for response in (
        kept.answer(request(if_none_match=f'"other", W/{tag}')),
        kept.keep(request(if_none_match=tag), answer(b"long"), asked_at=101.0),
    ):
        assert response is not None
        assert (response.status_code, response.body) == (304, b"")
        assert response.headers["etag"] == tag
    changed = kept.keep(request(if_none_match=tag), answer(b"other"), asked_at=102.0)
    assert (changed.status_code, changed.body) == (200, b"other")


def test_its_memory_is_bounded_and_the_oldest_goes(clock: Clock):
    kept = KeptAnswers(10_000, fresh_s=10.0, clock=clock)
    for name in ("a", "b", "c"):
        kept.keep(request(name), answer(bytes(500)), asked_at=100.0)
    assert [kept.answer(request(name)) is not None for name in ("a", "b", "c")] == [False, True, True]
    assert kept.size.rows == 2
    assert kept.size.bytes <= 10_000
    kept.keep(request("large"), answer(bytes(20_000)), asked_at=100.0)
    assert kept.answer(request("large")) is None
    assert kept.size.rows == 2


def test_nothing_is_kept_where_that_is_off(clock: Clock):
    for off in (KeptAnswers(0, fresh_s=10.0, clock=clock), KeptAnswers(1000, fresh_s=0.0, clock=clock)):
        assert off.keep(request(), answer(b"1"), asked_at=100.0).body == b"1"
        assert off.answer(request()) is None
        assert off.size.rows == 0


def test_what_was_asked_counts(clock: Clock):
    kept = KeptAnswers(1 << 20, fresh_s=10.0, clock=clock)
    for n in range(100):
        kept.keep(request(f"n={n}&x={'y' * 60_000}", accept="z" * 10_000), answer(), asked_at=clock.now)
    assert kept.size.bytes <= 1 << 20
    assert 60_000 * 2 * kept.size.rows < 1 << 20


def test_old_answers_go_and_who_asked_is_remembered(kept: KeptAnswers, clock: Clock):
    kept.keep(request("once"), answer(bytes(20_000)), asked_at=100.0)
    kept.keep(request("watched"), answer(bytes(20_000)), asked_at=100.0)
    clock.now = 111.0
    kept.keep(request("watched"), answer(bytes(20_000)), asked_at=111.0)
    assert (kept.size.rows, kept.size.bytes < 30_000) == (2, True), "of the one too old only the request"
    clock.now = 500.0
    kept.keep(request("other"), answer(), asked_at=500.0)
    assert kept.size.rows == 1
    clock.now = 900.0
    kept.keep(request("other"), answer(), asked_at=900.0)
    one = KeptAnswers(100_000, fresh_s=10.0, clock=clock)
    one.keep(request("other"), answer(), asked_at=900.0)
    assert kept.size == one.size


def test_connections_are_not_kept(kept: KeptAnswers, clock: Clock):
    asked = request("watched")
    asked.scope["state"] = {"fleetprof.abort": object()}
    kept.keep(asked, answer(), asked_at=100.0)
    kept.keep(asked, answer(), asked_at=100.0)
    clock.now = 106.0
    assert [scope["state"] for _, scope in kept.watched()] == [{}]


LONG = bytes(range(256)) * 8
CODINGS = {None: "gzip;q=0", "gzip": "br, GZIP;q=0.1", "zstd": "gzip, zstd"}
"""What somebody says who gets it."""
UNPACK: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes,
    "gzip": gzip.decompress,
    "zstd": zstandard.ZstdDecompressor().decompress,
}


def made(asked: Request, content: bytes = LONG, *, packed: bool = False) -> Response:
    return zipped(asked, content, "application/json", packed=packed)


@pytest.mark.parametrize("first", CODINGS)
def test_one_question_serves_all_codings(
    kept: KeptAnswers, monkeypatch: pytest.MonkeyPatch, first: str | None
):
    packings: list[str] = []

    def counted(coding: Coding, content: bytes) -> bytes:
        packings.append(coding)
        return packed_by(coding, content)

    monkeypatch.setattr(parcel, "packed_by", counted)
    asked = request(accept_encoding=CODINGS[first])
    kept.keep(asked, made(asked), asked_at=100.0)
    for _ in range(2):
        for coding, accepted in CODINGS.items():
            again = request(accept_encoding=accepted)
            direct = KeptAnswers(0, fresh_s=0.0).keep(again, made(again), asked_at=100.0)
            given = kept.answer(again)
            assert given is not None
            assert given.headers.get("content-encoding") == coding
            assert UNPACK[coding](bytes(given.body)) == LONG
            assert given.body == direct.body
            del given.headers["server-timing"]
            assert dict(given.headers) == dict(direct.headers), "the tag, too"
    assert (kept.hits, kept.misses, kept.size.rows) == (6, 0, 1)
    assert len(packings) == len(set(packings)), "each is packed once"


def tag_of(kept: KeptAnswers, accepted: str) -> str:
    given = kept.answer(request(accept_encoding=accepted))
    assert given is not None
    return given.headers["etag"]


def test_a_tag_is_of_one_coding(kept: KeptAnswers):
    asked = request(accept_encoding="zstd")
    kept.keep(asked, made(asked), asked_at=100.0)
    tags = {accepted: tag_of(kept, accepted) for accepted in ("zstd", "gzip", "br")}
    assert len(set(tags.values())) == 3
    for accepted, tag in tags.items():
        for other in tags:
            given = kept.answer(request(accept_encoding=other, if_none_match=tag))
            assert given is not None
            assert given.status_code == (304 if other == accepted else 200)


@pytest.mark.parametrize(("content", "packed"), [(b"{}", False), (LONG, True)])
def test_what_is_not_packed_goes_to_everybody_as_it_is(kept: KeptAnswers, content: bytes, packed: bool):
    for first in CODINGS.values():
        asked = request(accept_encoding=first)
        kept.keep(asked, made(asked, content, packed=packed), asked_at=100.0, packed=packed)
        for accepted in CODINGS.values():
            assert kept.at_once(request(accept_encoding=accepted))
            given = kept.answer(request(accept_encoding=accepted))
            assert given is not None
            assert given.body == content
            assert "content-encoding" not in given.headers


def test_what_has_to_be_packed_first_is_not_for_the_event_loop(kept: KeptAnswers, clock: Clock):
    plain, packing = request(accept_encoding="br"), request(accept_encoding="gzip")
    assert kept.at_once(plain)
    kept.keep(plain, made(plain), asked_at=100.0)
    assert kept.at_once(plain)
    assert not kept.at_once(packing)
    assert kept.answer(packing) is not None
    assert kept.at_once(packing)
    kept.keep(plain, made(plain, LONG[1:]), asked_at=101.0)
    assert not kept.at_once(packing), "that was of the answer before"
    given = kept.answer(packing)
    assert given is not None
    assert gzip.decompress(bytes(given.body)) == LONG[1:]


def test_codings_share_the_memory_and_the_age_of_their_answer(clock: Clock):
    noise = Random(1).randbytes(3_000)
    kept = KeptAnswers(9_000, fresh_s=10.0, clock=clock)  # room for one of two
    asked = request(accept_encoding="zstd")
    kept.keep(asked, made(asked, noise), asked_at=100.0)
    for _ in range(2):
        given = kept.answer(request(accept_encoding="gzip"))
        assert given is not None, "packed each time, since both are too much"
        assert gzip.decompress(bytes(given.body)) == noise
        assert kept.size.bytes <= 9_000
    large = KeptAnswers(100_000, fresh_s=10.0, clock=clock)
    large.keep(asked, made(asked, noise), asked_at=100.0)
    before = large.size.bytes
    assert large.answer(request(accept_encoding="gzip")) is not None
    assert large.size.bytes - before > 3_000
    clock.now = 110.1
    assert large.answer(request(accept_encoding="gzip")) is None
    assert large.answer(request(accept_encoding="zstd")) is None


def test_all_codings_are_warmed_by_one_question(kept: KeptAnswers, clock: Clock):
    zstd, gzipped = request(accept_encoding="zstd"), request(accept_encoding="gzip")
    kept.keep(zstd, made(zstd), asked_at=100.0)
    assert kept.answer(gzipped) is not None
    clock.now = 106.0
    ((_, scope),) = kept.watched()
    assert scope["headers"] == gzipped.scope["headers"], "as who asked last did"
    asked = Request({**scope, WARMED: True})
    kept.keep(asked, made(asked, LONG[1:]), asked_at=106.0)
    clock.now = 112.0
    given = kept.answer(zstd)
    assert given is not None
    assert UNPACK["zstd"](bytes(given.body)) == LONG[1:]


def test_whoever_asked_last_is_asked_for_again(kept: KeptAnswers, clock: Clock):
    def session(number: int) -> dict[str, str]:
        return {"cookie": f"fleetprof_session={number}" + "x" * 1_000 * number}

    kept.keep(request(**session(1)), answer(), asked_at=100.0)
    assert kept.answer(request(**session(2))) is not None
    clock.now = 106.0
    ((_, scope),) = kept.watched()
    assert scope["headers"] == request(**session(2)).scope["headers"]
    fresh = KeptAnswers(100_000, fresh_s=10.0, clock=clock)
    fresh.keep(request(**session(2)), answer(), asked_at=106.0)
    assert kept.size == fresh.size, "the longer request counts"
    assert kept.answer(request(**session(3))) is not None  # while it is asked again for the second
    kept.keep(Request({**scope, WARMED: True}), answer(b"new"), asked_at=106.0)
    clock.now = 112.0
    assert [scope["headers"] for _, scope in kept.watched()] == [request(**session(3)).scope["headers"]]


def test_a_question_is_the_same_however_it_is_written(kept: KeptAnswers):
    kept.keep(request('select={app="a b"}&from=now-1h'), answer(), asked_at=100.0)
    for same in ("from=now-1h&select=%7Bapp%3D%22a%20b%22%7D", "from=now-1h&select=%7Bapp%3D%22a+b%22%7D"):
        assert kept.answer(request(same)) is not None
    assert kept.answer(request('select={app="a  b"}&from=now-1h')) is None
    kept.keep(request("k=1&k=2"), answer(), asked_at=100.0)
    assert kept.answer(request("k=2&k=1")) is None, "the order of one parameter's values counts"


def test_the_same_bytes_are_the_same_question_that_the_routes_read(kept: KeptAnswers):
    kept.keep(request("select=größe"), answer(), asked_at=100.0)
    as_read = quote(request("select=größe").query_params["select"])
    assert kept.answer(request(f"select={as_read}")) is not None
    assert kept.answer(request(f"select={quote('größe')}")) is None, "the routes read something else"
    undecodable = request()
    undecodable.scope["query_string"] = b"select=\xff"
    assert kept.answer(undecodable) is None
