"""The parts of the answer on two machine types: what is known of each, and what their comparison says."""

from typing import TypedDict

from analysis.measured import given, quotient
from analysis.smt.capacity import Capacity
from analysis.smt.machine_choice import Advice, Choice
from analysis.smt.served_work import ServedWork
from storage.query.answers.figures import Figure, Interval, figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.machine_types import Advised, ServedAnswer, TypeRow
from storage.query.models.capacity import Forecasts
from storage.query.models.load_rows import LoadRow


class Comparison(TypedDict):
    """The members of the answer that compare the types."""

    price_ratio: float | None
    utilisation_ratio: Figure | None
    apu_ratio: Figure | None
    by_utilisation: Advised | None
    by_apu: Advised | None
    stress_test: bool | None
    utilisation_because: Unavailable | None
    apu_because: Unavailable | None


def compared_loads(choice: Choice | None) -> Comparison:
    """The comparison under equal traffic; None: there is none."""
    return {
        "price_ratio": None if choice is None else choice.price_ratio,
        "utilisation_ratio": None if choice is None else figure(choice.utilisation_ratio),
        "apu_ratio": None if choice is None else figure(choice.apu_ratio),
        "by_utilisation": None if choice is None else choice.by_utilisation.value,
        "by_apu": None if choice is None else choice.by_apu.value,
        "stress_test": None if choice is None else choice.stress_test,
        "utilisation_because": None,
        "apu_because": None,
    }


def compared_work(by_utilisation: ServedWork | Unavailable, by_apu: ServedWork | Unavailable) -> Comparison:
    """The comparison at equal load by each measure of load, or the reason why there is none."""
    utilisation = by_utilisation if isinstance(by_utilisation, ServedWork) else None
    apu = by_apu if isinstance(by_apu, ServedWork) else None
    either = utilisation or apu
    return {
        "price_ratio": None if either is None else either.price_ratio,
        "utilisation_ratio": None if utilisation is None else figure(utilisation.ratio),
        "apu_ratio": None if apu is None else figure(apu.ratio),
        "by_utilisation": None if utilisation is None else utilisation.advice.value,
        "by_apu": None if apu is None else apu.advice.value,
        "stress_test": None if either is None else _undecided(utilisation, apu),
        "utilisation_because": by_utilisation if isinstance(by_utilisation, Unavailable) else None,
        "apu_because": by_apu if isinstance(by_apu, Unavailable) else None,
    }


def _undecided(utilisation: ServedWork | None, apu: ServedWork | None) -> bool:
    """Whether a stress test must decide; without APU it must, because utilisation overestimates free capacity."""
    if apu is None or apu.advice is Advice.UNCLEAR or apu.curved:
        return True
    return utilisation is not None and (utilisation.advice is not apu.advice or utilisation.curved)


def type_row(
    platform: str, price: float, loads: LoadRow | None, served: Forecasts | None, *, counted: bool
) -> TypeRow:
    """A type's load, None if no visit has an APU, and the requests that its machines serve, None without rates.

    `counted`: by counters of cycles; False: by the operating systems' times.
    """
    visits = 0 if served is None else served.inputs.used
    of_apu = None if served is None else served.by_hardware if counted else served.by_apu
    return TypeRow(
        platform=platform,
        price=price,
        utilisation=None if loads is None else figure(loads.utilisation),
        apu=None if loads is None else figure(apu_of(loads, counted=counted)),
        low_confidence=loads is not None and loads.low_confidence,
        visits=visits if loads is None else loads.visits,
        machines=None if loads is None else loads.machines,
        by_utilisation=None if served is None else _served(served.by_utilisation, price),
        by_apu=None if of_apu is None else _served(of_apu, price),
    )


def apu_of(row: LoadRow, *, counted: bool) -> Interval:
    """The APU of a type that is compared and shown."""
    return row.counted.apu if counted and row.counted is not None else row.apu


def _served(found: Capacity | Unavailable, price: float) -> ServedAnswer:
    if isinstance(found, Unavailable):
        return ServedAnswer(None, None, None, None, None, found)
    return ServedAnswer(
        rate=figure(found.limit),
        price=figure(quotient(given(price), found.limit)),
        observations=found.observations,
        reach=found.reach,
        curved=found.curved,
        because=None,
    )
