from collections.abc import Sequence
from pathlib import Path

import pytest

from storage.errors import DatabaseUnavailable
from storage.symbols.kinds import Quality
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, OffsetTable
from symbolizer.sources.chain import Chain
from symbolizer.sources.opened_elf import open_elf
from symbolizer.sources.source import Found, Missing

NOBODY = ImageIdentity("aa", "x", "/x", b"\xaa", "")


class Place:
    """A source of fixed answers that counts how often it is asked."""

    def __init__(
        self, name: str, *, image: Path | None = None, debug: Path | None = None, modules: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.image, self.debug, self.modules = image, debug, modules
        self.asked = 0
        self.given: list[Found] = []

    def _file(self, path: Path | None) -> Found | Missing:
        self.asked += 1
        if path is None:
            return Missing(f"{self.name} has none.")
        found = open_elf(path)
        assert isinstance(found, Found)
        self.given.append(found)
        return found

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        return self._file(self.image)

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        return self._file(self.debug)

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        return self._file(self.debug)

    def split_files(self, identity, debug, units) -> tuple[Found, ...]:
        return ()

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        self.asked += 1
        if not self.modules:
            return Missing(f"{self.name} has none.")
        table = OffsetTable(*(() for _ in range(3)))
        return Kallsyms(table, dict.fromkeys(self.modules, table))

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        return Missing(f"{self.name} has none.")


@pytest.fixture
def bare(programs) -> Path:
    return programs.stripped("bare")


@pytest.fixture
def named(programs) -> Path:
    programs.run("objcopy", "--strip-debug", str(programs.pie), "named")
    return programs.folder / "named"


def best(found: Found | Missing, places: Sequence[Place]) -> Found:
    """The answer; all other files that were given are closed."""
    assert isinstance(found, Found)
    found.content.close()
    assert all(given.content.descriptor == -1 for place in places for given in place.given)
    return found


def test_the_best_file_wins_not_the_first(programs, bare: Path, named: Path) -> None:
    places = [Place("a"), Place("b", debug=named), Place("c", debug=programs.pie), Place("d", debug=named)]
    found = best(Chain(places).debug_file(NOBODY, None), places)
    assert found.origin == str(programs.pie)
    assert [place.asked for place in places] == [1, 1, 1, 0]


def test_the_first_of_equals_wins(programs, named: Path) -> None:
    places = [Place("a", debug=named), Place("b", debug=named)]
    best(Chain(places).debug_file(NOBODY, None), places)
    first = places[0].given[0]
    assert first.quality == Quality.SYMTAB
    assert [place.asked for place in places] == [1, 1]


def test_servers_are_asked_for_an_image_only_if_nobody_has_it(programs, bare: Path) -> None:
    near, far = Place("near", image=bare), Place("far", image=programs.pie, debug=programs.pie)
    chain = Chain([near], far=[far])
    assert best(chain.executable(NOBODY), [near, far]).origin == str(bare)
    assert far.asked == 0
    assert best(chain.debug_file(NOBODY, None), [near, far]).origin == str(programs.pie)
    nowhere = Place("near")
    assert best(Chain([nowhere], far=[far]).executable(NOBODY), [far]).origin == str(programs.pie)


def test_a_place_that_fails_leaves_nothing_open(named: Path) -> None:
    class Away(Place):
        def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
            raise DatabaseUnavailable("gone")

    first = Place("a", debug=named)
    with pytest.raises(DatabaseUnavailable):
        Chain([first, Away("b")]).debug_file(NOBODY, None)
    assert [given.content.descriptor for given in first.given] == [-1]


def test_nobodys_file_is_missing_for_every_reason_once() -> None:
    places = [Place("a"), Place("b"), Place("a")]
    for missing in (Chain(places).executable(NOBODY), Chain(places).vdso(NOBODY)):
        assert missing == Missing("a has none. b has none.")
    assert isinstance(Chain([]).debug_file(NOBODY, None), Missing)


def test_the_kernel_table_with_most_modules_wins() -> None:
    kernel = KernelIdentity(b"\x01" * 20, (("ext4", ""), ("nf", "")))
    places = [
        Place("a"),
        Place("b", modules=["nf"]),
        Place("c", modules=["ext4", "nf"]),
        Place("d", modules=["nf"]),
    ]
    symbols = Chain(places).kernel(kernel)
    assert isinstance(symbols, Kallsyms)
    assert set(symbols.modules) == {"ext4", "nf"}
    assert places[3].asked == 0
