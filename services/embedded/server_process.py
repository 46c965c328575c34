"""Whether the server of a pid file really runs: pids are reused, and zombies keep theirs."""

import re
from pathlib import Path


def runs(pid: int, program: str, argument: str) -> bool:
    """Whether `pid` is a live process (no zombie) of this program with this argument or part of its title."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (OSError, IndexError):
        return False
    # A server that sets its title has all of it in the first word: "/path/valkey-server unixsocket:…".
    named = re.search(rf"(^|/){re.escape(program)}( |$)", command[0]) is not None
    return named and state not in {"Z", "X"} and any(argument in part for part in command)


def first_number(path: Path) -> int | None:
    """The pid at the start of a pid file; None without a file or a number."""
    try:
        return int(path.read_text(errors="replace").split("\n", 1)[0].strip())
    except (OSError, ValueError):
        return None


def tail(path: Path, lines: int = 15) -> str:
    """End of a log as part of an error message; empty without a log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    last = text.splitlines()[-lines:]
    return "".join(f"\n    {line}" for line in last) + (f"\n  (whole log: {path})" if last else "")
