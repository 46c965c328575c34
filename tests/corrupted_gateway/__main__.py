"""Corrupted input by the thousand for every parser of the gateway.

    python -m tests.corrupted_gateway [--count 10000] [--seed 1] [parser …]

Everything that the gateway reads of processes, files and containers may have been written by somebody who
means harm, and what it reads of the kernel may be damaged. For each parser sound input is damaged once to some
dozens of times; the outcome must be a value or the parser's own error, within a second of CPU time and a
quarter of a gigabyte beyond what the process has. Anything else is a finding, whose input is written to a
file. Exit 1 if there was a finding.
"""

import argparse
import resource
import sys
import tempfile
from pathlib import Path

from tests.corrupted_gateway.trials import limit_memory, trials


def main() -> int:
    """Try them all; what was found is printed."""
    parser = argparse.ArgumentParser(prog="tests.corrupted_gateway", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="inputs of each parser (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("parser", nargs="*", help="by name; default: all")
    options = parser.parse_args()
    limit_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = findings = names = 0
    with tempfile.TemporaryDirectory(prefix="corrupted-gateway-") as folder:
        for tried in trials(Path(folder), count=options.count, seed=options.seed, only=options.parser):
            inputs, findings, names = inputs + tried.inputs, findings + tried.findings, names + 1
            said = ", ".join(f"{came} {number}" for came, number in tried.outcomes.most_common())
            sys.stdout.write(
                f"{tried.inputs:8} {tried.name}: {tried.findings} findings; slowest {tried.slowest_s * 1000:.1f} ms; {said}\n"
            )
            sys.stdout.flush()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sys.stdout.write(
        f"{inputs} inputs of {names} parsers, {findings} findings; memory grew by {grown:.0f} MiB\n"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
