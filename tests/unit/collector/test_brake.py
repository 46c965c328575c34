"""GIVEN how the latest visits ended WHEN the brake judges them THEN it stops in time and says why."""

from hypothesis import given
from hypothesis import strategies as st

from collector.brake import MIN_VISITS, stop_reason
from storage.schema import Outcome
from storage.visit_history import Ending

OK = Ending(Outcome.ANSWERED, "")
DOWN = Ending(Outcome.UNREACHABLE, "UNAVAILABLE: connection refused")
SLOW = Ending(Outcome.TIMEOUT, "The gateway did not finish within 25 s.")
endings = st.lists(st.sampled_from([OK, DOWN, SLOW]), max_size=40)
thresholds = st.floats(0.01, 1)


def test_a_few_failures_stop_nothing():
    assert stop_reason([DOWN] * (MIN_VISITS - 1), campaign="fleet", threshold=0.1) is None
    assert stop_reason([DOWN] * MIN_VISITS + [OK] * 50, campaign="fleet", threshold=0.1) is None


def test_the_sentence_names_counts_the_commonest_reason_and_what_to_do():
    why = stop_reason([DOWN] * 4 + [SLOW] * 2 + [OK] * 4, campaign="fleet", threshold=0.5)
    assert why == (
        "6 of the last 10 visits failed; the campaign stops at 50%. Most often (4 times) they ended "
        "as unreachable, for example: UNAVAILABLE: connection refused. When the cause is fixed: "
        "fleetprof campaigns resume fleet"
    )


def test_a_failure_without_detail_still_makes_a_sentence():
    why = stop_reason([Ending(Outcome.FAILED, " ")] * MIN_VISITS, campaign="x", threshold=1.0)
    assert why is not None
    assert "no detail was recorded." in why


@given(endings, thresholds)
def test_it_stops_exactly_at_the_threshold(latest, threshold):
    failed = sum(ending is not OK for ending in latest)
    stops = failed >= MIN_VISITS and failed >= threshold * len(latest)
    assert (stop_reason(latest, campaign="fleet", threshold=threshold) is not None) == stops


@given(endings, thresholds)
def test_one_more_answer_never_stops_a_campaign(latest, threshold):
    if stop_reason(latest, campaign="fleet", threshold=threshold) is None:
        assert stop_reason([OK, *latest], campaign="fleet", threshold=threshold) is None
