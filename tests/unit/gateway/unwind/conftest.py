"""Images for the unwinder's tests, and readelf's reading of them."""

import shutil
from pathlib import Path

import pytest

from tests.cfi_oracle import ReadelfRow, open_table, parse_readelf, read_rows

__all__ = ["GOLDEN", "ReadelfRow", "open_table", "run_readelf"]

GOLDEN = Path(__file__).parents[3] / "golden" / "gateway"


def run_readelf(path: Path) -> list[ReadelfRow]:
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    return list(read_rows(path))


@pytest.fixture(scope="session")
def frames_elf() -> bytes:
    return (GOLDEN / "frames.elf").read_bytes()


@pytest.fixture(scope="session")
def frames_rows() -> list[ReadelfRow]:
    return parse_readelf((GOLDEN / "frames.expected").read_text())
