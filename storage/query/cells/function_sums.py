"""What functions have of a selection, or of a part of its cells."""

from dataclasses import dataclass

from storage.query.arrays import Float, Int64


@dataclass(frozen=True, slots=True)
class FunctionSums:
    """Columns over functions, ascending, each once."""

    function: Int64
    own: Int64
    """Units observed that end in the function."""
    total: Int64
    """Units observed of stacks that have it."""
    own_weight: Float
    """Units of the fleet that they stand for."""
    total_weight: Float
