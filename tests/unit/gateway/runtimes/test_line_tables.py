"""GIVEN the line table of a code object WHEN an instruction's line is looked up THEN it is the compiler's."""

import ast
import dis
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.runtimes.python.line_tables import LineTable
from tests.interpreters import interpreters

VERSIONS = [(3, 9), (3, 10), (3, 11), (3, 14)]
SOURCE = """
def f(x):
    total = 0
    for i in range(x):
        try:
            total += (i *
                      2)
        except ValueError:
            return [j
                    for j in range(3)]



    return total
"""
# Prints version, first line, the table in hex, and every instruction's offset and line.
DUMP = f"""
import dis, sys
space = {{}}
exec(compile({SOURCE!r}, "f.py", "exec"), space)
code = space["f"].__code__
table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
if sys.version_info < (3, 10):
    lines, line = [], None
    starts = dict(dis.findlinestarts(code))
    for i in dis.get_instructions(code):
        line = starts.get(i.offset, line)
        lines.append((i.offset, line))
else:
    lines = [(at, line or 0) for start, end, line in code.co_lines() for at in range(start, end, 2)]
print(sys.version_info[1], code.co_firstlineno, table.hex(), lines)
"""


@pytest.mark.parametrize("interpreter", interpreters())
def test_the_lines_are_the_compilers(interpreter: str):
    done = subprocess.run([interpreter, "-c", DUMP], capture_output=True, text=True, check=True)
    minor, first, table, lines = done.stdout.split(maxsplit=3)
    read = LineTable((3, int(minor)), bytes.fromhex(table), int(first))
    expected = [(int(a), int(b)) for a, b in ast.literal_eval(lines)]
    assert len(expected) > 20
    assert [(at, read.line(at)) for at, _ in expected] == expected
    assert read.line(-2) == int(first)


def test_this_interpreters_functions():
    for function in (dis.dis, random.sample, subprocess.run):
        code = function.__code__
        read = LineTable(sys.version_info[:2], code.co_linetable, code.co_firstlineno)
        for start, end, line in code.co_lines():
            assert read.line(start) == read.line(end - 2) == (line or 0)


@given(st.sampled_from(VERSIONS), st.binary(max_size=300), st.integers(-5, 1 << 31), st.booleans())
def test_no_table_makes_it_fail(version: tuple[int, int], table: bytes, first: int, is_cut: bool):
    read = LineTable(version, table, first, is_cut=is_cut)
    offsets = [-1, 0, 2, 50, 1 << 20, 7, 300]
    scanned = [read.line(at) for at in offsets]
    assert all(0 <= line < 1 << 31 for line in scanned)
    assert [read.line(at) for at in offsets] == scanned, "scanning and the decoded table agree"
