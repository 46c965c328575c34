"""The failure brake stops a campaign whose visits fail too often (DIGEST G4).

Pure: the outcomes of the latest visits in, a verdict out. A profiler that cannot reach a good part
of its machines has lost its sample, and one that hurts them must not go on until a person has
looked. `fleetprof campaigns resume NAME` releases the brake; earlier visits do not count after that.
"""

from collections import Counter
from collections.abc import Sequence

from storage.schema import Outcome
from storage.visit_history import Ending

MIN_VISITS = 5
"""Failures before the brake may act: one machine that is down for a moment does not stop a campaign."""


def stop_reason(
    latest: Sequence[Ending], *, campaign: str, threshold: float, fewest: int = MIN_VISITS
) -> str | None:
    """A sentence with the reason why the campaign must stop; None: it may go on.

    `latest` are the campaign's latest visits that ended since it was last started, at most its
    window; `threshold` is the share of failures among them (0…1) that stops it.
    """
    failures = [visit for visit in latest if visit.outcome != Outcome.ANSWERED]
    if len(failures) < fewest or len(failures) < threshold * len(latest):
        return None
    (outcome, times), *_ = Counter(visit.outcome for visit in failures).most_common(1)
    (detail, _), *_ = Counter(visit.detail for visit in failures if visit.outcome == outcome).most_common(1)
    return (
        f"{len(failures)} of the last {len(latest)} visits failed; the campaign stops at "
        f"{threshold:.0%}. Most often ({times} times) they ended as {outcome}, for example: "
        f"{_sentence(detail)} When the cause is fixed: fleetprof campaigns resume {campaign}"
    )


def _sentence(text: str) -> str:
    text = text.strip() or "no detail was recorded"
    return text if text.endswith((".", "!", "?")) else f"{text}."
