"""GIVEN what perf script prints WHEN it has a daily rollup THEN stacks of the program are counted by their names."""

import importlib.util
from pathlib import Path

from simulation.recorded_stacks import Frame, read_recording

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("fold", ROOT / "infra/fold.py")
fold = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fold)

PRINTED = """\
postgres 17
\tffffffff822568d4 __get_user_8 ([kernel.kallsyms])
\tffffffffc0100000 ext4_sync_file ([ext4])
\t          108ef3 epoll_wait (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t          34b406 [unknown] (/usr/bin/postgres)
\t          472fd0 PostgresMain (/usr/bin/postgres)

postgres 17
\t             ef3 clock_gettime ([vdso])
\t          472fd0 PostgresMain (/usr/bin/postgres)

other 18
\t          472fd0 PostgresMain (/opt/postgres)

postgres 17
\t          472fd1 PostgresMain (/usr/bin/postgres)
"""


def test_frames_are_named_by_their_files():
    found = fold.folded(PRINTED.splitlines(keepends=True), "/usr/bin/postgres")
    assert found == {
        "PostgresMain;libc.so.6`epoll_wait;[kernel]`ext4_sync_file;[kernel]`__get_user_8": 1,
        "PostgresMain": 2,
    }


def test_the_reader_reads_what_was_folded():
    found = fold.folded(PRINTED.splitlines(keepends=True), "/usr/bin/postgres")
    read = read_recording("".join(f"{stack} {count}\n" for stack, count in found.items()).encode())
    assert read[Frame("", "PostgresMain"),] == 2
    assert len(read) == 2


def test_nothing_of_the_program_is_nothing():
    assert not fold.folded(PRINTED.splitlines(keepends=True), "/usr/bin/nginx")
