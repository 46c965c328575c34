"""Images for the unwinder's tests, and readelf's reading of them."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import ElfLayout, read_layout

GOLDEN = Path(__file__).parents[3] / "golden" / "gateway"


@dataclass(frozen=True)
class ReadelfRow:
    address: int
    end: int  # of the function
    signal: bool
    columns: dict[str, str]


def parse_readelf(text: str) -> list[ReadelfRow]:
    """Rows of `readelf --debug-dump=frames-interp`; of several at one address the last."""
    rows: dict[tuple[int, int], ReadelfRow] = {}
    signal_cies: set[str] = set()
    names: list[str] = []
    section = ""
    entry: tuple[str, int] | None = None
    for line in text.splitlines():
        if line.startswith("Contents of"):
            section = line
        if ".eh_frame" not in section:
            continue
        if cie := re.match(r'([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "(\w*)"', line):
            entry = None
            if "S" in cie[2]:
                signal_cies.add(cie[1])
        elif fde := re.search(r" FDE cie=([0-9a-f]+) pc=[0-9a-f]+\.\.([0-9a-f]+)", line):
            entry = (fde[1], int(fde[2], 16))
        elif "LOC" in line:
            names = line.split()
        elif entry and re.match(r"[0-9a-f]{16} ", line):
            fields = re.sub(r" \(\w+\)", "", line).split()
            address = int(fields[0], 16)
            row = ReadelfRow(
                address, entry[1], entry[0] in signal_cies, dict(zip(names, fields, strict=False))
            )
            rows[entry[1], address] = row
    return list(rows.values())


def run_readelf(path: Path) -> list[ReadelfRow]:
    program = shutil.which("readelf")
    if program is None:
        pytest.skip("readelf is not installed")
    command = [program, "--debug-dump=frames-interp", str(path)]
    # Complaints about sections it cannot follow go to stderr and do not matter here.
    return parse_readelf(
        subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C"}, check=False).stdout
    )


def open_table(data: bytes) -> tuple[ElfLayout, UnwindTable]:
    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    layout = read_layout(read)
    return layout, UnwindTable(layout, read)


@pytest.fixture(scope="session")
def frames_elf() -> bytes:
    return (GOLDEN / "frames.elf").read_bytes()


@pytest.fixture(scope="session")
def frames_rows() -> list[ReadelfRow]:
    return parse_readelf((GOLDEN / "frames.expected").read_text())
