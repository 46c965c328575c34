"""A child process that says what it is told to: its output is its first argument, repeated; then it may stay.

python -m tests.echo_child TEXT TIMES ends|stays|fails
"""

import signal
import sys


def main(arguments: list[str]) -> int:
    said, times, then = arguments
    for _ in range(int(times)):
        sys.stdout.write(said)
    sys.stdout.flush()
    if then == "stays":
        signal.pause()
    if then == "fails":
        sys.stderr.write("first\nlast\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
