"""Collapsed stacks of one program from the output of `perf script`: the source of the simulated fleet's recordings.

    perf record -e cpu-clock -F 499 --call-graph dwarf -p PID -- sleep 20
    perf script --no-inline --no-demangle -F comm,pid,ip,sym,dso | python infra/fold.py /usr/bin/redis-server

Only stacks with a frame of the program are kept. Files have their base names, the program none, the kernel `[kernel]`.
A frame without a name from perf (a static function of a stripped file, the vDSO) is left out, so its samples count for
its caller. `--root FUNCTION` leaves out stacks that begin elsewhere, where the unwinder failed.
"""

import re
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator

_FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<symbol>.+) \((?P<file>[^()]+)\)$")
_KERNEL = re.compile(r"^\[kernel\.kallsyms\]|\.ko(\.\w+)?$|^\[\w+\]$")
_NAMELESS = "[unknown]"
_NO_FILES = ("[unknown]", "[vdso]", "[vsyscall]")


def folded(lines: Iterable[str], program: str) -> Counter[str]:
    """Samples by collapsed stack, outermost frame first, of the samples with a frame of the file `program`."""
    found: Counter[str] = Counter()
    for sample in _samples(lines):
        if any(file == program for _, file in sample):
            names = [name for symbol, file in reversed(sample) if (name := _name(symbol, file, program))]
            if names:
                found[";".join(names)] += 1
    return found


def _samples(lines: Iterable[str]) -> Iterator[list[tuple[str, str]]]:
    """Symbol and file of each frame, innermost first, for each sample; an empty line ends a sample."""
    frames: list[tuple[str, str]] = []
    for line in lines:
        if match := _FRAME.match(line.rstrip("\n")):
            frames.append((match["symbol"], match["file"]))
        elif not line.strip() and frames:
            yield frames
            frames = []
    if frames:
        yield frames


def _name(symbol: str, file: str, program: str) -> str:
    if symbol == _NAMELESS or file in _NO_FILES:
        return ""
    symbol = symbol.replace(";", ":").replace("`", "'")
    if file == program:
        return symbol
    return f"[kernel]`{symbol}" if _KERNEL.search(file) else f"{file.rpartition('/')[2]}`{symbol}"


def main() -> None:
    """Fold standard input."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("program", help="path of the executable, as perf has it")
    parser.add_argument("--root", default="", help="outermost function of a stack that is kept")
    arguments = parser.parse_args()
    for stack, count in sorted(folded(sys.stdin, arguments.program).items()):
        if arguments.root in {"", stack.partition(";")[0]}:
            print(stack, count)


if __name__ == "__main__":
    main()
