"""GIVEN a cached response WHEN the request is repeated THEN it is the computed one, for `ttl_s` seconds."""

import pytest
from fastapi import Request, Response

from services.api.response_cache import Key, ResponseCache, add_tag, if_changed

BODY = b'{"rows":[]}'


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> ResponseCache:
    return ResponseCache(100_000, ttl_s=10.0, clock=clock)


def request(query: str = "from=now-1h", path: str = "/api/v1/table", **headers: str) -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
    )


def computed(body: bytes = BODY) -> Response:
    response = Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
    add_tag(response)
    return response


def put(cache: ResponseCache, asked: Request, body: bytes = BODY, *, queried_at: float = 100.0) -> None:
    cache.put(Key.of(asked, "json"), computed(body), queried_at=queried_at)


def get(cache: ResponseCache, asked: Request, form: str = "json") -> Response | None:
    return cache.get(Key.of(asked, form), asked)


def test_a_hit_is_the_computed_response_and_its_age(cache: ResponseCache, clock: Clock):
    assert get(cache, request()) is None
    put(cache, request())
    clock.now = 110.0
    hit = get(cache, request())
    assert hit is not None
    assert (hit.status_code, hit.body) == (200, BODY)
    assert dict(hit.headers) == {**computed().headers, "age": "10"}
    clock.now = 110.1
    assert get(cache, request()) is None
    assert (cache.hits, cache.misses) == (1, 2)


def test_age_counts_from_the_question(cache: ResponseCache, clock: Clock):
    clock.now = 108.0
    put(cache, request(), queried_at=100.0)
    assert get(cache, request()) is not None
    clock.now = 110.5
    assert get(cache, request()) is None
    put(cache, request("slow"), queried_at=100.0)
    assert get(cache, request("slow")) is None


@pytest.mark.parametrize(
    ("other", "form"),
    [
        (request("from=now-2h"), "json"),
        (request(path="/api/v1/flame"), "json"),
        (request(accept_encoding="gzip"), "json"),
        (request(), "csv"),
        (request(cache_control="no-cache"), "json"),
    ],
)
def test_another_question_form_or_coding_is_computed(cache: ResponseCache, other: Request, form: str):
    put(cache, request())
    assert get(cache, other, form) is None
    assert get(cache, request()) is not None


def test_a_client_that_has_the_response_gets_304(cache: ResponseCache):
    put(cache, request())
    tag = computed().headers["etag"]
    for tags in (tag, f'"other", W/{tag}'):
        asked = request(if_none_match=tags)
        for response in (get(cache, asked), if_changed(asked, computed())):
            assert response is not None
            assert (response.status_code, response.body) == (304, b"")
            assert response.headers["etag"] == tag
            assert not {"content-type", "content-length"} & set(response.headers.keys())
    changed = if_changed(request(if_none_match=tag), computed(b"other"))
    assert (changed.status_code, changed.body) == (200, b"other")


def test_memory_is_bounded_and_the_oldest_are_evicted():
    clock, most = Clock(), 10_000
    cache = ResponseCache(most, ttl_s=10.0, clock=clock)
    names = [str(number) for number in range(8)]
    for name in names:
        put(cache, request(name), bytes(1_500))
        assert 0 < cache.size.bytes <= most
    assert [get(cache, request(name)) is not None for name in names] == [False] * 5 + [True] * 3
    put(cache, request("too large"), bytes(most))
    assert get(cache, request("too large")) is None
    put(cache, request("x" * most))
    assert cache.size.rows == 3, "neither is cached, and neither evicts others"
    put(cache, request(names[-1]), bytes(1_500))
    assert cache.size.rows == 3, "the same request has one entry"


def test_expired_responses_free_their_memory(cache: ResponseCache, clock: Clock):
    put(cache, request("a"), bytes(20_000))
    put(cache, request("b"), bytes(20_000))
    clock.now = 111.0
    put(cache, request("c"), queried_at=111.0)
    assert cache.size.rows == 1
    assert cache.size.bytes < 20_000


def test_nothing_is_cached_without_memory_or_time(clock: Clock):
    for off in (ResponseCache(0, ttl_s=10.0, clock=clock), ResponseCache(1 << 20, ttl_s=0.0, clock=clock)):
        put(off, request())
        assert get(off, request()) is None
        assert (off.size.rows, off.misses) == (0, 0)
