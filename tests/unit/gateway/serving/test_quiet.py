"""GIVEN callers who are refused without end WHEN they come THEN the log stays short and says how many it left out."""

from gateway.serving.quiet import Quiet


def test_a_few_lines_a_minute_and_the_count_of_the_others():
    now = [0.0]
    quiet = Quiet(lambda: now[0])
    said = [quiet.say("denied") for _ in range(1000)]
    assert said == [{}] * 10 + [None] * 990
    assert quiet.say("other") == {}
    now[0] = 59.9
    assert quiet.say("denied") is None
    now[0] = 60.0
    assert [quiet.say("denied") for _ in range(11)] == [{"unsaid": 991}] + [{}] * 9 + [None]
