"""The estimates that rows of tables are made of.

Rows say less: nothing of the fleet's units of events that are no time, and of low confidence not whether that of self or
of total.
"""

from collections.abc import Callable
from unittest.mock import patch

from storage.query.answers.table import TableAnswer
from storage.query.estimation.estimates import Estimate
from storage.query.shapes.table import TableQuestion, estimated

Behind = dict[tuple[str, ...], tuple[Estimate | None, Estimate | None]]
"""Of the self and of the total of each row, by the row's key."""


def with_estimates(
    ask: Callable[[TableQuestion], TableAnswer], question: TableQuestion
) -> tuple[TableAnswer, Behind]:
    """The answer, and the estimates of its rows."""
    with patch("storage.query.shapes.table.estimated", wraps=estimated) as made:
        answer = ask(question)
    # Before these: the rows of a way of reading that was given up.
    calls = made.call_args_list[made.call_count - len(answer.rows) :]
    return answer, {
        tuple(row.key.values()): call.args[:2] for row, call in zip(answer.rows, calls, strict=True)
    }
