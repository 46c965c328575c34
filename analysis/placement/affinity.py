"""Assigns load to platforms with the fewest cycles: a linear program over measured CPI (DIGEST G30).

    minimise   Σ_ij CPI_ij · Load_ij
    subject to Σ_i Load_ij = TotalLoad_j          every application's work is done
               Σ_j CPI_ij · Load_ij ≤ Capacity_i  no platform exceeds its capacity

The variables are changes of the present assignment, arriving and leaving load. So pins, floors and shares are
bounds, and a cautious plan can price arriving load at the upper end of its CPI and leaving load at the lower end. The
empty change is always allowed, so no plan is worse than the present assignment if that satisfies the constraints.
Load is in instructions, capacity in cycles, both over one period; callers normalise CPI by clock rate.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float
from analysis.errors import BadShape, NotANumber, Unreachable
from analysis.input_checks import enough, numbers, positives

_INFEASIBLE = 2
"""The solver's status for infeasible constraints."""
_SLACK = 1e-9
"""Relative rounding error of the solver."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """P platforms and A applications with their present load."""

    cpi: Float
    """Cycles per instruction; (P, A). NaN if never measured: no load is moved there."""
    load: Float
    """Instructions of each application on each platform; (P, A), ≥ 0."""
    capacity: Float | None = None
    """Available cycles of each platform; (P,). None: the present ones."""
    pinned: Bool | None = None
    """Applications that must not move; (A,)."""
    allowed: Bool | None = None
    """Allowed platforms by application; (P, A). None: wherever CPI is known."""
    floor: Float | None = None
    """Minimum instructions, for example of a minimum of replicas; (P, A)."""
    largest_share: Float | None = None
    """Maximum share of an application on one platform, for availability; (A,)."""

    def __post_init__(self) -> None:
        numbers("load in instructions", self.load, 0)
        if self.load.ndim != 2 or self.cpi.shape != self.load.shape:
            raise BadShape("CPI and load need one entry for each platform and application.")
        enough("platforms", self.load.shape[0], 1)
        enough("applications", self.load.shape[1], 1)
        self._check_shapes()
        positives("CPI", self.cpi[~np.isnan(self.cpi)])
        unknown = np.isnan(self.cpi) & (self.load > 0)
        if unknown.any():
            raise NotANumber(
                f"{int(unknown.sum())} applications run on a platform where their CPI was never measured."
            )

    def _check_shapes(self) -> None:
        platforms, applications = self.load.shape
        for what, array, shape in (
            ("Capacity", self.capacity, (platforms,)),
            ("Pinned", self.pinned, (applications,)),
            ("Allowed", self.allowed, self.load.shape),
            ("Floor", self.floor, self.load.shape),
            ("Largest share", self.largest_share, (applications,)),
        ):
            if array is not None and array.shape != shape:
                raise BadShape(f"{what} has the wrong shape: {array.shape}, {shape} is needed.")
        for what, values in (("capacity in cycles", self.capacity), ("floor in instructions", self.floor)):
            if values is not None:
                numbers(what, values, 0)
        if self.largest_share is not None:
            numbers("largest share of an application on one platform", self.largest_share, 0, 1)

    @property
    def cycles(self) -> float:
        """Cost of the present assignment."""
        return cost(self.cpi, self.load)


@dataclass(frozen=True, slots=True)
class Plan:
    """An assignment of all load."""

    load: Float
    """Instructions of each application on each platform; (P, A)."""
    cycles: float
    """Its cost by measured CPI."""
    present: float
    """Cost of the present assignment."""
    certain_saving: float
    """Cycles saved even if every CPI is at the worse end of its interval; equals `saving` without intervals."""
    unknown: int
    """Pairs of platform and application without measured CPI, which were left out."""

    @property
    def saving(self) -> float:
        """Cycles saved; below 0 if the present assignment violates a constraint whose satisfaction costs cycles."""
        return self.present - self.cycles


def cost(cpi: Float, load: Float) -> float:
    """Cycles of an assignment: Σ CPI·Load over all load."""
    there = load > 0
    return float((cpi[there] * load[there]).sum())


def assign(fleet: Fleet, *, cpi_lo: Float | None = None, cpi_hi: Float | None = None) -> Plan:
    """The assignment with the fewest cycles.

    With `cpi_lo` and `cpi_hi`, (P, A), the plan is cautious: only moves that pay off even at the worse ends. Raises
    Unreachable if the constraints exclude each other, or if load would have to leave where an end of its CPI is
    infinite.
    """
    if any(end is not None and end.shape != fleet.cpi.shape for end in (cpi_lo, cpi_hi)):
        raise BadShape("Ends of CPI need one entry for each platform and application.")
    down = fleet.cpi if cpi_lo is None else np.minimum(cpi_lo, fleet.cpi)
    up = fleet.cpi if cpi_hi is None else np.maximum(cpi_hi, fleet.cpi)
    known = np.isfinite(up) & np.isfinite(down)
    least_come, most_come, least_go, most_go = _bounds(fleet, known)
    platform, application = np.nonzero((most_come > 0) | (most_go > 0) | (least_come > 0))
    at = (platform, application)
    n = len(platform)
    # In shares of each application's load and of each platform's cycles, so that the solver's tolerance is relative to
    # the smallest application, too: in instructions, one with a millionth of the largest lost a tenth of its work.
    total = fleet.load.sum(axis=0)
    unit = np.where(total > 0, total, 1.0)
    present = np.where(fleet.load > 0, fleet.cpi * fleet.load, 0.0).sum(axis=1)
    capacity = present if fleet.capacity is None else fleet.capacity
    room = np.where(capacity > 0, capacity, 1.0)
    if not n:
        if (present > capacity * (1 + _SLACK)).any():
            raise Unreachable("A platform exceeds its capacity, and no load may move.")
        return _plan(fleet, fleet.load, 0.0, known)
    upper, lower = (
        np.concatenate([come[at], go[at]]) / np.tile(unit[application], 2)
        for come, go in ((most_come, most_go), (least_come, least_go))
    )
    if (lower > upper * (1 + _SLACK)).any():
        raise Unreachable("An application must run on a platform that is not allowed, or is pinned to one.")
    cycles = np.concatenate([up[at], -down[at]]) * np.tile(unit[application], 2)
    from scipy import optimize, sparse  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    columns, ones = np.arange(2 * n), np.ones(n)
    scale = float(np.abs(cycles).max())
    found = optimize.linprog(  # type: ignore[call-overload]  # the stubs lack sparse matrices
        cycles / scale,
        A_ub=sparse.csr_array(
            (cycles / np.tile(room[platform], 2), (np.tile(platform, 2), columns)), shape=(len(room), 2 * n)
        ),
        b_ub=(capacity - present) / room,
        A_eq=sparse.csr_array(
            (np.concatenate([ones, -ones]), (np.tile(application, 2), columns)), shape=(len(total), 2 * n)
        ),
        b_eq=np.zeros(len(total)),
        bounds=np.column_stack([lower, np.maximum(upper, lower)]),
        method="highs",
    )
    if found.status == _INFEASIBLE:
        raise Unreachable("No assignment satisfies all capacities, pins, floors and shares.")
    if found.x is None:
        raise Unreachable(f"The solver found no assignment: {found.message}")
    load = fleet.load.copy()
    np.add.at(load, at, (found.x[:n] - found.x[n:]) * unit[application])
    load = np.where(np.abs(load - fleet.load) <= _SLACK * total, fleet.load, np.maximum(load, 0.0))
    done = load.sum(axis=0)
    load *= np.divide(total, done, out=np.ones(len(total)), where=done > 0)
    return _plan(fleet, load, -float(found.fun) * scale, known)


def _bounds(fleet: Fleet, known: Bool) -> tuple[Float, Float, Float, Float]:
    """Minimum and maximum of arriving load, minimum and maximum of leaving load; (P, A) each."""
    load, total = fleet.load, fleet.load.sum(axis=0)
    allowed = np.ones(load.shape, np.bool_) if fleet.allowed is None else fleet.allowed
    floor = np.zeros(load.shape) if fleet.floor is None else fleet.floor
    share = np.ones(load.shape[1]) if fleet.largest_share is None else fleet.largest_share
    wanted = np.where(allowed, share * total, 0.0)
    stuck = ~known & (load > wanted * (1 + _SLACK))
    if (stuck if fleet.pinned is None else stuck & ~fleet.pinned).any():
        raise Unreachable(
            "An application must leave a platform where its CPI has no finite interval, so the cost "
            "of the move is unknown."
        )
    # Other load without a finite CPI interval stays in place.
    ceiling = np.where(known, wanted, load)
    least_come, most_come = np.maximum(floor - load, 0.0), np.maximum(ceiling - load, 0.0)
    least_go, most_go = np.maximum(load - ceiling, 0.0), np.where(known, np.maximum(load - floor, 0.0), 0.0)
    if fleet.pinned is not None:
        most_come, most_go, least_come, least_go = (
            np.where(fleet.pinned, 0.0, bound) for bound in (most_come, most_go, least_come, least_go)
        )
    return least_come, most_come, least_go, most_go


def _plan(fleet: Fleet, load: Float, certain: float, known: Bool) -> Plan:
    return Plan(load, cost(fleet.cpi, load), fleet.cycles, certain, int((~known).sum()))
