"""The share of cycles that a hardware feature would affect and save, by the functions that would use it (DIGEST G24).

Hardware designers and buyers need the benefit of a faster copy, checksum or compression. A pattern names its functions.
Their joint share has one interval, computed from the sum in each visit, since functions that are hot together are not
independent.

So visits are read one by one, however long the time range. Cells do not suffice: they have Σy² over visits and Σx·y
with the whole for each function, but the variance of a sum of functions also needs Σ y·y′ of each pair, and a fleet has
too many pairs to store.
"""

from dataclasses import dataclass

import numpy as np

from analysis.audits.feature import Touched, touched
from analysis.errors import NotANumber, NotEstimable
from analysis.measured import Measured
from storage.errors import BadSelection
from storage.query.answers.feature import FeatureAnswer, FeatureRow
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Unavailable
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import visit_table
from storage.query.facts.selection_echo import selection_echo
from storage.query.selections import patterns
from storage.query.selections.selection import Selection
from storage.query.shapes.table import all_rows
from storage.query.shapes.totals import totals
from storage.query.store_reading import StoreReading

MOST_ROWS = 1_000
_FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class FeatureQuestion:
    """The self share of all functions whose name the pattern (RE2) matches somewhere, and the saving of a speedup."""

    selection: Selection
    functions: str
    speedup: float = 2.0
    """At least 1; ∞ gives the saving if they took no time at all."""
    limit: int = 20

    def answer(self, reading: StoreReading) -> FeatureAnswer:
        """The share. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if not self.functions:
            raise BadSelection(
                "The functions that the feature would affect are missing.",
                hint="functions=memcpy|memmove",
                parameter="functions",
            )
        if not self.speedup >= 1:
            raise BadSelection("A speedup must be at least 1.", hint="speedup=3", parameter="speedup")
        test = patterns.search(self.functions, parameter="functions")
        samples = reading.visits(self.selection)
        evidence = samples.evidence
        if not isinstance(evidence, Visits):
            raise TypeError("features need the samples by visit")
        every = all_rows(reading, samples, (_FUNCTION,))
        own = np.flatnonzero(every.own > 0)
        chosen = np.array([p for p in own.tolist() if test(every.key(p)[_FUNCTION])], np.int64)
        chosen = chosen[np.argsort(-every.own_weight[chosen], kind="stable")]
        whole = samples.whole
        rows = tuple(
            FeatureRow(every.key(place)[_FUNCTION], float(every.own_weight[place]) / whole)
            for place in chosen[: self.limit].tolist()
            if whole > 0
        )
        found: Touched | None = None
        unavailable: Unavailable | None = None
        if evidence.design.weights is None:
            unavailable = Unavailable(
                "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
            )
        else:
            contributions = every.contributions(chosen, totals=False).own
            table = visit_table(evidence, contributions, np.arange(len(evidence)))
            try:
                found = touched(table, np.ones(len(chosen), np.bool_))
            except NotEstimable as error:
                unavailable = Unavailable(error.reason, str(error))
        return FeatureAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(reading.functions, samples),
            functions=self.functions,
            speedup=self.speedup,
            share=None if found is None else figure(found.share),
            low_confidence=None if found is None else found.low_confidence,
            visits=None if found is None else found.visits,
            saved=None if found is None else figure(_saved(found, self.speedup)),
            rows=rows,
            rows_total=len(chosen),
            because=unavailable,
        )


def _saved(found: Touched, speedup: float) -> Measured:
    try:
        return found.saved(speedup)
    except NotANumber as error:
        raise BadSelection(str(error), parameter="speedup") from error
