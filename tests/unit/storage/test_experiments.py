"""GIVEN counts of a set's runs WHEN they are told by platform THEN each is looked at a few times, however many there are."""

from storage.experiments import Part, _parts


class Compared(str):
    """A text that knows how often any was compared."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_counts_are_told_by_platform() -> None:
    counts = [("b", "web", False, 3), ("a", "web", True, 2), ("b", "web", True, 1), ("a", "feed", True, 4)]
    assert _parts(counts) == (
        Part("a", targets=(), programs=("feed", "web"), alone=6),
        Part("b", targets=(("web", 3),), programs=("web",), alone=1),
    )
    assert _parts(()) == ()


def test_many_platforms_are_not_looked_at_for_each_of_them() -> None:
    counts = [(Compared(f"{number:04}"), "web", False, 1) for number in range(1000)]
    Compared.times = 0
    assert len(_parts(counts)) == 1000
    assert Compared.times < 20_000
