"""GIVEN a server that goes away WHEN it is used THEN waits grow, and each outage is said once."""

from structlog.testing import capture_logs

from collector.outage import LONGEST_WAIT_S, Outage


def test_waits_grow_to_a_bound():
    outage = Outage("the broker", clock=lambda: 0.0)
    waits = [outage.failed(OSError("refused")) for _ in range(50)]
    assert 0 < waits[0] <= 0.5
    assert all(LONGEST_WAIT_S / 2 <= wait <= LONGEST_WAIT_S for wait in waits[-10:])
    assert outage.is_ongoing


def test_each_outage_is_said_once_with_how_long_it_took():
    now = [10.0]
    with capture_logs() as lines:
        outage = Outage("the broker", clock=lambda: now[0])
        outage.over()
        for _ in range(3):
            outage.failed(OSError("refused"))
        now[0] += 7.5
        outage.over()
        outage.over()
        outage.failed(OSError("again"))
    said = [(line["event"], line.get("why"), line.get("away_s")) for line in lines]
    assert said == [
        ("the broker is unavailable, waiting for it", "refused", None),
        ("the broker is available again", None, 7.5),
        ("the broker is unavailable, waiting for it", "again", None),
    ]
