"""GIVEN callers who are refused without end WHEN they come THEN the log stays short and says how many it left out."""

from gateway.serving.log_rate_limit import LogRateLimit


def test_a_few_lines_a_minute_and_the_count_of_the_others():
    now = [0.0]
    quiet = LogRateLimit(lambda: now[0])
    said = [quiet.admit("denied") for _ in range(1000)]
    assert said == [{}] * 10 + [None] * 990
    assert quiet.admit("other") == {}
    now[0] = 59.9
    assert quiet.admit("denied") is None
    now[0] = 60.0
    assert [quiet.admit("denied") for _ in range(11)] == [{"suppressed": 991}] + [{}] * 9 + [None]
