"""What a question takes of its budget for one thing after the other."""

from storage.query import budget


class Room:
    """Room for things of which one is held at a time: as much of the budget as the largest of them takes."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, size: int) -> None:
        """As `budget.take`, of what is not taken already."""
        budget.take(max(size - self._taken, 0))
        self._taken = max(size, self._taken)
