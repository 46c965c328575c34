import re
from pathlib import Path

import pytest

from symbolizer.dwarf.units import package_ids, units
from symbolizer.elf.file import ElfFile

CLANGS = Path(__file__).resolve().parents[3] / "golden/symbolizer/split_by_clang.s"


def read(path: Path) -> ElfFile:
    return ElfFile(path.read_bytes())


@pytest.mark.parametrize("options", [("-gdwarf-5",), ("-gdwarf-4",), ("-gdwarf-3",), ("-gz",), ("-g1",)])
def test_units_are_readelfs(programs, options: tuple[str, ...]) -> None:
    path = programs.compiled(f"units{''.join(options)}", *options)
    said = programs.run("readelf", "--debug-dump=info", str(path))
    found = list(units(read(path)))
    assert [unit.version for unit in found] == [
        int(n) for n in re.findall(r"^   Version:\s+(\d)", said, re.MULTILINE)
    ]
    names = re.findall(r"DW_AT_name\s+: (?:\(.*?\): )?(\S+)\s*$", said, re.MULTILINE)
    assert found[0].name == names[0] == "program.c"
    assert found[0].folder == str(programs.folder)
    assert found[0].producer.startswith("GNU C")
    assert not found[0].is_skeleton


@pytest.mark.parametrize("version", ["4", "5"])
def test_skeletons_and_their_halves_have_one_id(programs, version: str) -> None:
    path = programs.compiled(f"halves{version}", "-gsplit-dwarf", f"-gdwarf-{version}")
    [skeleton] = units(read(path))
    [half] = units(read(programs.folder / skeleton.dwo_name))
    assert skeleton.is_skeleton
    assert not half.is_skeleton
    assert skeleton.dwo_id == half.dwo_id
    assert (half.name, skeleton.folder) == ("program.c", str(programs.folder))
    if version == "4":
        programs.run("dwp", "-e", path.name, "-o", "halves.dwp")
        assert package_ids(read(programs.folder / "halves.dwp")) == {skeleton.dwo_id}
    assert package_ids(read(path)) == frozenset()


def test_clangs_skeletons_name_files_by_index(programs) -> None:
    programs.run("gcc", "-c", str(CLANGS), "-o", "clangs.o")
    programs.run("objcopy", "--strip-dwo", "clangs.o", "clangs-skeleton.o")
    programs.run("gcc", "clangs-skeleton.o", "-o", "clangs")
    [skeleton] = units(read(programs.folder / "clangs"))
    assert (skeleton.folder, skeleton.dwo_name) == ("/build", "split_by_clang.dwo")
    assert skeleton.dwo_id == 9330688551984829665


@pytest.mark.parametrize("limit", ["_TEXT_BYTES", "_ABBREVIATIONS_READ"])
def test_a_walk_ends_where_it_has_read_enough(programs, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Units may all name the same strings and tables, so that their number says nothing of what they take."""
    for name in ("first", "second", "third"):
        (programs.folder / f"{name}.c").write_text(f"int {name}(int n) {{ return n * 3; }}")
    programs.run("gcc", "-g", "-shared", "-fPIC", "first.c", "second.c", "third.c", "-o", "three.so")
    elf = read(programs.folder / "three.so")
    assert [unit.name for unit in units(elf)] == ["first.c", "second.c", "third.c"]
    monkeypatch.setattr(f"symbolizer.dwarf.units.{limit}", 10)
    assert [unit.name for unit in units(elf)] == ["first.c"]
