"""GIVEN folders full of anything WHEN symbols are looked for THEN what may be of use is found, once."""

import os
from pathlib import Path

import pytest

from services.symbols.errors import UnusableFile
from services.symbols.symbol_files import files_at, is_useful


def elf(kind: int, *, big_endian: bool = False) -> bytes:
    order = "big" if big_endian else "little"
    return (
        b"\x7fELF\x02"
        + (b"\x02" if big_endian else b"\x01")
        + bytes(10)
        + kind.to_bytes(2, order)
        + bytes(46)
    )


@pytest.fixture
def build(tmp_path: Path) -> Path:
    for name, content in {
        "bin/prog": elf(2),
        "bin/lib.so": elf(3),
        "bin/prog.debug": elf(2, big_endian=True),
        "obj/main.o": elf(1),
        "obj/main.dwo": elf(1),
        "modules/net.ko": elf(1),
        "core": elf(4),
        "README": b"text",
        "short": b"\x7fELF",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "latest").symlink_to("bin/prog")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.link(tmp_path / "bin/prog", tmp_path / "bin/prog-1.2")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_of_a_folder_what_is_useful_is_taken_once(build: Path):
    found = sorted(file.name for file in files_at([build], recursive=True))
    assert found == ["lib.so", "main.dwo", "net.ko", "prog", "prog.debug"]


def test_a_named_file_is_taken_whatever_it_is(build: Path):
    (file,) = files_at([build / "README"], recursive=False)
    assert (file.name, file.size) == ("README", 4)
    assert file.sha256().hex().startswith("982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1")


@pytest.mark.parametrize(
    ("name", "said"), [("bin", "add -r"), ("gone", "Cannot read"), ("pipe", "neither a file")]
)
def test_what_cannot_be_meant_is_said(build: Path, name: str, said: str):
    with pytest.raises(UnusableFile, match=said):
        list(files_at([build / name], recursive=False))


def test_what_cannot_be_read_is_of_no_use(tmp_path: Path):
    assert not is_useful(tmp_path)
    assert not is_useful(tmp_path / "none")
