"""Every row of call frame information as the gateway reads it, against readelf: binutils read the same bytes.

    python -m tests.cfi_oracle [--all] [file …]

`readelf --debug-dump=frames-interp` prints the rows, `--debug-dump=frames` the instructions with their
expressions; both are followed entry by entry, and every address that begins a row is asked of the gateway's
table. Expressions are compared by content, signal frames with the layout that the walker takes for granted.
Without files: a few of this system; `--all`: large ones too. Exit 1 if a row differs.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gateway.errors import BadImage
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import ElfLayout, read_layout
from gateway.unwind.leb128 import read_sleb, read_uleb
from gateway.unwind.rules import (
    AT_CFA,
    AT_EXPRESSION,
    CFA_PLUS,
    EXPRESSION,
    FROM_RBP,
    FROM_RSP,
    GENERAL,
    OUTERMOST_RULE,
    REGISTER,
    SAME,
    SIGNAL_RULE,
    UNDEFINED,
    Rule,
)

SYSTEM = (
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/bash",
    "/usr/bin/perl",
)
LARGE = (
    "/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0",
    "~/.pyenv/versions/3.11*/lib/libpython3.11.so.1.0",
    "/usr/lib/x86_64-linux-gnu/libLLVM-1*.so.1",
    "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.1?",
    "/usr/bin/node",
    "/usr/lib/jvm/*/lib/server/libjvm.so",
    "/usr/lib/gcc/x86_64-linux-gnu/*/cc1plus",
    "~/.rustup/toolchains/stable*/lib/librustc_driver-*.so",
    "~/.cargo/bin/rustup",
    "/usr/local/go/bin/go",
)
REGISTERS = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)), "rip")
_COLUMNS = {6: "rbp", 3: "rbx", 16: "ra"}
# The kernel's rt_sigframe after the handler's return, as glibc describes it and the walker reads it.
_SIGNAL = {
    "CFA": "DW_OP_breg7 (rsp): 160; DW_OP_deref",
    "rbp": "DW_OP_breg7 (rsp): 120",
    "rbx": "DW_OP_breg7 (rsp): 128",
    "ra": "DW_OP_breg7 (rsp): 168",
}


@dataclass(frozen=True)
class ReadelfRow:
    """A row: `end` is the function's; `expressions` are texts by column, where readelf was asked for them."""

    address: int
    end: int
    signal: bool
    columns: dict[str, str]
    expressions: dict[str, str] | None = None


class _Entry(NamedTuple):
    """A CIE or FDE as readelf prints it: the place in the section, the CIE's, the lines below."""

    at: str
    cie: str
    augmentation: str
    start: int
    end: int
    lines: list[str]


_CIE = re.compile(r'([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "(\w*)"')
_CIE_BARE = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE")
_FDE = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
_AUGMENTATION = re.compile(r'  Augmentation: +"(\w*)"')
_ADVANCE = re.compile(r"  DW_CFA_(?:advance_loc\d?|set_loc): .*?([0-9a-f]+)$")
_ABOUT_REGISTER = re.compile(r"  DW_CFA_(\w+): r(\d+) \(\w+\)(?: (?:at|is|in)?.*?)?(?:\((DW_OP_.*)\))?$")
_CFA_EXPRESSION = re.compile(r"  DW_CFA_def_cfa_expression \((.*)\)$")
_ANNOTATION = re.compile(r" \(\w+\)")


def parse_readelf(rows_text: str, instructions_text: str | None = None) -> list[ReadelfRow]:
    """Rows of the two texts of readelf, all of them. Of several at one address the last."""
    instructions = None if instructions_text is None else iter(instructions_text.splitlines())
    return list(_rows(iter(rows_text.splitlines()), instructions))


def read_rows(path: Path) -> Iterator[ReadelfRow]:
    """Rows of a file by readelf, as it prints them. Raises FileNotFoundError where there is no readelf."""
    with _readelf("frames-interp", path) as rows, _readelf("frames", path) as instructions:
        assert rows.stdout is not None
        assert instructions.stdout is not None
        yield from _rows(rows.stdout, instructions.stdout)


def open_table(data: bytes) -> tuple[ElfLayout, UnwindTable]:
    """The gateway's reading of a file's content."""

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    layout = read_layout(read)
    return layout, UnwindTable(layout, read)


def says_the_same(rule: Rule, row: ReadelfRow) -> bool:
    """Whether a rule of ours is what readelf's row says."""
    kind, cfa, rbp, rbx, unusual = rule
    said = row.expressions
    if row.signal:
        return rule == SIGNAL_RULE and (said is None or said.items() <= _SIGNAL.items())
    if row.columns.get("ra") == "u":
        return rule == OUTERMOST_RULE
    where = re.fullmatch(r"(\w+)([+-]\d+)", row.columns["CFA"])
    if kind in {FROM_RSP, FROM_RBP}:
        return (
            where is not None
            and where[1] == ("rsp" if kind == FROM_RSP else "rbp")
            and int(where[2]) == cfa * 8
            and row.columns["ra"] == "c-8"
            and row.columns.get("rbp", "u") in ({"u", "s"} if rbp == 0 else {f"c{rbp * 8:+d}"})
            and row.columns.get("rbx", "u") in ({"u", "s"} if rbx == 0 else {f"c{rbx * 8:+d}"})
        )
    if kind != GENERAL or unusual is None:
        return False
    if where is None:
        same_cfa = row.columns["CFA"] == "exp" and bool(unusual.expression)
    else:
        same_cfa = not unusual.expression and (REGISTERS[unusual.register], unusual.offset) == (
            where[1],
            int(where[2]),
        )
    if not same_cfa or (said is not None and said != _expressions(unusual.expression, unusual)):
        return False
    return all(
        _register_text(getattr(unusual, attribute)) in {row.columns.get(column, "u"), _unsaved(row, column)}
        for attribute, column in (("rbp", "rbp"), ("rbx", "rbx"), ("return_address", "ra"))
    )


def disassembled(expression: bytes) -> str:
    """An expression as readelf prints it, as far as call frame information of real files goes."""
    texts = []
    at = 0
    while at < len(expression):
        operation, at = expression[at], at + 1
        if 0x70 <= operation <= 0x8F:
            offset, at = read_sleb(expression, at)
            texts.append(f"DW_OP_breg{operation - 0x70} ({REGISTERS[operation - 0x70]}): {offset}")
        elif 0x30 <= operation <= 0x4F:
            texts.append(f"DW_OP_lit{operation - 0x30}")
        elif operation == 0x23:
            constant, at = read_uleb(expression, at)
            texts.append(f"DW_OP_plus_uconst: {constant}")
        elif operation in _CONSTANTS:
            name, size, signed = _CONSTANTS[operation]
            texts.append(f"{name}: {int.from_bytes(expression[at : at + size], 'little', signed=signed)}")
            at += size
        else:
            texts.append(_PLAIN[operation])
    return "; ".join(texts)


_CONSTANTS = {
    0x08: ("DW_OP_const1u", 1, False), 0x09: ("DW_OP_const1s", 1, True), 0x0A: ("DW_OP_const2u", 2, False),
    0x0B: ("DW_OP_const2s", 2, True), 0x0C: ("DW_OP_const4u", 4, False), 0x0D: ("DW_OP_const4s", 4, True),
}  # fmt: skip
_PLAIN = {
    0x06: "DW_OP_deref", 0x12: "DW_OP_dup", 0x16: "DW_OP_swap", 0x1A: "DW_OP_and", 0x1C: "DW_OP_minus",
    0x1E: "DW_OP_mul", 0x21: "DW_OP_or", 0x22: "DW_OP_plus", 0x24: "DW_OP_shl", 0x25: "DW_OP_shr",
    0x29: "DW_OP_eq", 0x2A: "DW_OP_ge", 0x2B: "DW_OP_gt", 0x2C: "DW_OP_le", 0x2D: "DW_OP_lt", 0x2E: "DW_OP_ne",
}  # fmt: skip


@dataclass
class Agreement:
    """Rows of one file."""

    path: Path
    rows: int = 0
    equal: int = 0
    with_expression: int = 0
    signal: int = 0
    # Rows that no code of the file can have: what the linker left over of sections it dropped.
    without_code: int = 0
    entries: int = 0
    seconds: float = 0.0
    why: str = ""
    differing: list[tuple[ReadelfRow, Rule]] = field(default_factory=list)


def compare(path: Path) -> Agreement:
    """Ask for every row of a file."""
    began = time.process_time()
    found = Agreement(path)
    try:
        layout, table = open_table(path.read_bytes())
    except BadImage as reason:
        found.why = str(reason)
        return found
    for row in read_rows(path):
        offset = layout.offset(row.address)
        if row.address >= row.end:
            continue
        if offset is None or layout.code_address(offset) is None:
            found.without_code += 1
            continue
        found.rows += 1
        found.signal += row.signal
        found.with_expression += bool(row.expressions)
        rule = table.rule(offset)
        if says_the_same(rule, row):
            found.equal += 1
        else:
            found.differing.append((row, rule))
    found.entries = table.entries_evaluated
    found.why = table.why
    found.seconds = time.process_time() - began
    return found


def _expressions(cfa: bytes, unusual: object) -> dict[str, str]:
    texts = {"CFA": disassembled(cfa)} if cfa else {}
    for attribute, column in (("rbp", "rbp"), ("rbx", "rbx"), ("return_address", "ra")):
        how, operand = getattr(unusual, attribute)
        if how in {AT_EXPRESSION, EXPRESSION}:
            texts[column] = disassembled(operand)
    return texts


def _register_text(rule: tuple[int, int | bytes]) -> str:
    how, operand = rule
    if how in {AT_CFA, CFA_PLUS}:
        return f"{'c' if how == AT_CFA else 'v'}{operand:+d}"
    return {SAME: "u", UNDEFINED: "u", AT_EXPRESSION: "exp", EXPRESSION: "vexp", REGISTER: f"r{operand!r}"}[
        how
    ]


def _unsaved(row: ReadelfRow, column: str) -> str:
    return "u" if row.columns.get(column) == "s" else ""


def _readelf(what: str, path: Path) -> "subprocess.Popen[str]":
    # Complaints about sections it cannot follow go to stderr and do not matter here.
    return subprocess.Popen(
        ["readelf", f"--debug-dump={what}", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )


def _rows(rows: Iterator[str], instructions: Iterator[str] | None) -> Iterator[ReadelfRow]:
    signal_cies: set[str] = set()
    cies: dict[str, list[str]] = {}
    others = None if instructions is None else _entries(instructions)
    for entry in _entries(rows):
        other = None if others is None else next(others)
        assert other is None or other.at == entry.at, "readelf's two answers do not match"
        if not entry.cie:
            if "S" in entry.augmentation:
                signal_cies.add(entry.at)
            if other is not None:
                cies[entry.at] = other.lines
            continue
        expressions = None
        if other is not None and any("expression" in line for line in (*other.lines, *cies[entry.cie])):
            expressions = _followed(cies[entry.cie], other)
        yield from _rows_of(entry, expressions, signal=entry.cie in signal_cies, known=other is not None)


def _rows_of(
    entry: _Entry, expressions: dict[int, dict[str, str]] | None, *, signal: bool, known: bool
) -> Iterator[ReadelfRow]:
    names: list[str] = []
    found: dict[int, ReadelfRow] = {}
    for line in entry.lines:
        if "LOC" in line:
            names = line.split()
        elif re.match(r"[0-9a-f]{16} ", line):
            fields = _ANNOTATION.sub("", line).split()
            address = int(fields[0], 16)
            texts = expressions.get(address, {}) if expressions else {}
            found[address] = ReadelfRow(
                address, entry.end, signal, dict(zip(names, fields, strict=False)), texts if known else None
            )
    yield from found.values()


def _entries(lines: Iterator[str]) -> Iterator[_Entry]:
    """Entries of .eh_frame, one after the other."""
    entry: _Entry | None = None
    inside = False
    for raw in lines:
        line = raw.rstrip("\n")
        if line.startswith("Contents of"):
            inside = ".eh_frame" in line
        if not inside:
            continue
        if (fde := _FDE.match(line)) is not None:
            if entry is not None:
                yield entry
            entry = _Entry(fde[1], fde[2], "", int(fde[3], 16), int(fde[4], 16), [])
        elif (cie := _CIE_BARE.match(line)) is not None:
            if entry is not None:
                yield entry
            told = _CIE.match(line)
            entry = _Entry(cie[1], "", told[2] if told else "", 0, 0, [])
        elif entry is not None:
            entry.lines.append(line)
    if entry is not None:
        yield entry


def _followed(cie: list[str], entry: _Entry) -> dict[int, dict[str, str]]:
    """Which expressions hold at each address at which a row of the entry begins."""
    now: dict[str, str] = {}
    remembered: list[dict[str, str]] = []
    address = entry.start
    found = {}
    _, now = _step(cie, now, remembered)
    initial = dict(now)
    for line in entry.lines:
        if (advance := _ADVANCE.match(line)) is not None:
            found[address] = dict(now)
            address = int(advance[1], 16)
        else:
            restored = re.match(r"  DW_CFA_restore(?:_extended)?: r(\d+)", line)
            if restored is not None:
                column = _COLUMNS.get(int(restored[1]), "")
                now.pop(column, None)
                if column in initial:
                    now[column] = initial[column]
            else:
                _, now = _step([line], now, remembered)
    found[address] = dict(now)
    return found


def _step(
    lines: list[str], now: dict[str, str], remembered: list[dict[str, str]]
) -> tuple[list[dict[str, str]], dict[str, str]]:
    for line in lines:
        if (cfa := _CFA_EXPRESSION.match(line)) is not None:
            now["CFA"] = cfa[1]
        elif line.startswith("  DW_CFA_def_cfa"):
            if not line.startswith("  DW_CFA_def_cfa_offset"):
                now.pop("CFA", None)
        elif line.startswith("  DW_CFA_remember_state"):
            remembered.append(dict(now))
        elif line.startswith("  DW_CFA_restore_state"):
            now = remembered.pop()
        elif (about := _ABOUT_REGISTER.match(line)) is not None:
            column = _COLUMNS.get(int(about[2]))
            if column is not None:
                now.pop(column, None)
                if about[3]:
                    now[column] = about[3]
    return remembered, now


def main() -> int:
    """Compare the files named, or those of this system."""
    parser = argparse.ArgumentParser(prog="tests.cfi_oracle", description=__doc__)
    parser.add_argument("--all", action="store_true", help="large binaries too")
    parser.add_argument("file", nargs="*", type=Path)
    wanted = parser.parse_args()
    if shutil.which("readelf") is None:
        sys.stderr.write("readelf is not installed\n")
        return 2
    paths = wanted.file or [Path(name) for name in SYSTEM]
    if wanted.all:
        paths += [
            path for pattern in LARGE for path in sorted(Path("/").glob(str(Path(pattern).expanduser())[1:]))
        ]
    heading = f"{'rows':>9} {'equal':>9} {'by expr.':>9} {'signal':>6} {'no code':>7} {'CPU s':>6}  file"
    sys.stdout.write(heading + "\n")
    rows = different = files = 0
    seen: set[Path] = set()
    for path in paths:
        if not path.exists() or path.resolve() in seen:
            continue
        seen.add(path.resolve())
        found = compare(path)
        rows, files = rows + found.rows, files + bool(found.rows)
        different += len(found.differing)
        sys.stdout.write(
            f"{found.rows:9} {found.equal:9} {found.with_expression:9} {found.signal:6} {found.without_code:7} "
            f"{found.seconds:6.1f}  {path}{f': {found.why}' if found.why else ''}\n"
        )
        for row, rule in found.differing[:3]:
            sys.stdout.write(f"    {row}\n    {rule}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{rows} rows of {files} files, {different} differ\n")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
