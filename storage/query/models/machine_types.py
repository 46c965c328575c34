"""Which of two machine types serves the same traffic for less money, by utilisation and by APU (DIGEST A8).

The types are two platforms. That machines of both get equal traffic, as behind a balancer that spreads it evenly, is for the
caller to know: the selection says which machines and when.
"""

from dataclasses import dataclass
from math import isfinite

from analysis.errors import CannotSay
from analysis.measured import Measured
from analysis.smt.machine_choice import Choice, MachineType, choose
from storage.errors import BadSelection
from storage.query.models.apu import MOST_ROWS, ApuAnswer, ApuQuestion
from storage.query.models.load_rows import LoadRow
from storage.query.models.told import Unsaid
from storage.query.reader import Reading
from storage.query.selections.selection import Selection
from storage.query.weighing.estimates import Interval

_PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class MachineTypesAnswer:
    """Both types' loads and what they say, or why they say nothing."""

    apu: ApuAnswer
    """What the loads are made of."""
    old: LoadRow | None
    """None: no visit of it has an APU."""
    new: LoadRow | None
    choice: Choice | None
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class MachineTypesQuestion:
    """Two platforms under equal traffic for each machine, with the prices of a machine in any currency."""

    selection: Selection
    old: str
    new: str
    old_price: float
    new_price: float
    coefficient: float | None = None
    """Overlap coefficient of a platform that has none of its own."""

    def answer(self, reading: Reading) -> MachineTypesAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        for name, price in (("old_price", self.old_price), ("new_price", self.new_price)):
            if not (price > 0 and isfinite(price)):
                raise BadSelection("The price of a machine is above 0.", parameter=name)
        if self.old == self.new:
            raise BadSelection("A machine type is compared with another one.", parameter="new")
        found = ApuQuestion(self.selection, _PLATFORM, self.coefficient, MOST_ROWS).answer(reading)
        rows = {row.value: row for row in found.loads}
        old, new = rows.get(self.old), rows.get(self.new)
        choice, unsaid = None, found.unsaid
        if unsaid is None and (old is None or new is None):
            gone = self.new if old is not None else self.old
            unsaid = Unsaid("too_little", f"No visit of {gone} has an APU: `left_out` says why.")
        if unsaid is None and old is not None and new is not None:
            try:
                choice = choose(_type(self.old_price, old), _type(self.new_price, new))
            except CannotSay as error:
                unsaid = Unsaid(error.reason, str(error))
        return MachineTypesAnswer(found, old, new, choice, unsaid)


def _type(price: float, row: LoadRow) -> MachineType:
    return MachineType(price, _measured(row.utilisation), _measured(row.apu))


def _measured(found: Interval) -> Measured:
    return Measured(found.value, found.lo, found.hi)
