"""GIVEN functions that the compiler split into a hot and a cold part WHEN named THEN both are one."""

import subprocess

import pytest

from fleetpb import capture_pb2
from storage.ingest.symbolized import Status
from symbolizer.elf.file import ElfFile
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.tables.symbol_table import whole_name

SPLIT = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((cold, noinline)) void complain(int n) { fprintf(stderr, "bad %d\\n", n); exit(1); }
__attribute__((noinline)) int first(int n)
{
    if (__builtin_expect(n < 0, 0)) { complain(n); complain(n + 1); }
    return n * 3;
}
__attribute__((noinline)) int second(int n)
{
    if (__builtin_expect(n > 1000000, 0)) { complain(n * 2); complain(n); }
    return n * 5 + first(n);
}
int main(int argc, char **argv)
{
    int t = 0;
    for (int i = 0; i < 100; i++) t += second(i + argc);
    return t & 1;
}
"""


@pytest.fixture(scope="module")
def split_program(programs):
    (programs.folder / "split.c").write_text(SPLIT)
    programs.run("gcc", "-O2", "-g", "split.c", "-o", "split")
    return programs.folder / "split"


def symbols_of(path):
    lines = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}


def test_the_compiler_did_split_them(split_program):
    assert {"first", "first.cold", "second", "second.cold"} <= set(symbols_of(split_program))


def test_hot_and_cold_part_are_one_function(split_program, tmp_path):
    at = symbols_of(split_program)
    wanted = ["first.cold", "second.cold", "first", "second"]
    capture = capture_pb2.Capture(format=1, strings=["", str(split_program)])
    build_id = ElfFile(split_program.read_bytes()).build_id
    capture.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=build_id)
    for name in wanted:  # a position-independent program: offsets of its code are its addresses
        capture.frames.mapping.append(0)
        capture.frames.offset.append(at[name])
        capture.frames.into_function.append(0)
        capture.frames.flags.append(1)
    resolved = Resolver(LocalFiles(debug_roots=[tmp_path]), tmp_path / "cache").resolve(capture)
    outermost = [resolved.functions[resolved.function[end - 1]] for end in resolved.offsets[1:]]
    assert [function.name for function in outermost] == ["first", "second", "first", "second"]
    assert {function.file for function in outermost} == {str(split_program.parent / "split.c")}
    assert (resolved.status == Status.FULL).all()


@pytest.mark.parametrize(
    ("raw", "whole"),
    [("f.cold", "f"), ("f.cold.1", "f"), ("f", "f"), ("f.colder", "f.colder"), ("f.part.0", "f.part.0")],
)
def test_the_name_of_the_whole(raw, whole):
    assert whole_name(raw) == whole
