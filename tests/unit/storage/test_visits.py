from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from storage.visits import DrawnVisit


def drawn_at(moment: datetime) -> DrawnVisit:
    return DrawnVisit(
        visit_id=UUID(int=1),
        campaign_id=1,
        round=0,
        machine_id=1,
        stratum_id=1,
        population=1,
        drawn=1,
        probability=1.0,
        drawn_at=moment,
    )


def test_the_day_is_utcs_wherever_the_collector_stands():
    visit = drawn_at(datetime(2026, 11, 21, 1, 30, tzinfo=timezone(timedelta(hours=5, minutes=45))))
    assert visit.day == date(2026, 11, 20)
    assert visit.hour % 24 == 19


@given(st.integers(0, 4 * 10**9).map(lambda second: datetime.fromtimestamp(second, UTC)))
def test_the_hour_lies_in_the_day(moment):
    visit = drawn_at(moment)
    assert visit.day == date(1970, 1, 1) + timedelta(days=visit.hour // 24)
