"""A recording's functions with their own and total units. Pure."""

from dataclasses import dataclass

from services.api.formats.stack_profile import StackProfile, Value
from services.recording.flame_columns import node_totals
from storage.arrays import sum_at
from storage.query.stacks.function_names import FunctionRow


@dataclass(frozen=True, slots=True)
class FunctionSums:
    """A function with its units: `own` as the innermost, `total` anywhere in the stack, once per stack."""

    function: FunctionRow
    own: int
    total: int


def function_sums(profile: StackProfile) -> list[FunctionSums]:
    """The functions with samples, the largest own units first, then the largest total."""
    table = profile.table
    units = sum_at(table.leaf, profile.of(Value.OBSERVED).of_row, len(table.parent))
    totals = node_totals(table.parent, units).tolist()
    own = sum_at(table.function, units, len(table.functions)).tolist()
    total = [0] * len(own)
    open_: list[int] = []  # the functions of the path to the node
    for function, depth, weight in zip(table.function.tolist(), table.depth.tolist(), totals, strict=True):
        del open_[depth:]
        if function not in open_:  # an outer call of a recursive function counts the inner ones
            total[function] += weight
        open_.append(function)
    found = [
        FunctionSums(row, own[place], total[place])
        for place, row in enumerate(table.functions)
        if place and total[place]
    ]
    return sorted(found, key=lambda each: (-each.own, -each.total, each.function.name))
