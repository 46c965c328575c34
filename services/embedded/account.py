"""The user that a server runs as: PostgreSQL refuses to run as root.

As root, the server's files lie in folders of that user, and this program's files lie beside them in folders of root: a
root process that writes into another user's folder follows that user's symbolic links.
"""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from services.errors import CannotStart

_CANDIDATES = ("fleetprof", "postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """A user and its group, and whether this process already runs as that user."""

    name: str
    uid: int
    gid: int
    own: bool

    def run(
        self, command: Sequence[str | Path], *, cwd: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this user, with English messages and nothing else of our environment."""
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC"},
            user=None if self.own else self.uid,
            group=None if self.own else self.gid,
            extra_groups=None if self.own else [],
            umask=0o077,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )

    def own_folder(self, path: Path) -> None:
        """Make the folder for this user only."""
        path.mkdir(mode=0o700, exist_ok=True)
        if not self.own:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(existing: Path) -> Account:
    """The current user; for root the owner of the `existing` data, else the first existing user of a short list."""
    if os.geteuid() != 0:
        return Account(own_name(), os.geteuid(), os.getegid(), own=True)
    if existing.exists() and (owner := existing.stat().st_uid) != 0:
        return _other(pwd.getpwuid(owner))
    for name in _CANDIDATES:
        try:
            return _other(pwd.getpwnam(name))
        except KeyError:
            continue
    raise CannotStart(
        f"PostgreSQL does not run as root, and none of the users {', '.join(_CANDIDATES)} exists: "
        "add one (useradd --system fleetprof), or set FLEETPROF_DATABASE_URL."
    )


def own_name() -> str:
    """Name of the user this process runs as. Raises `CannotStart` when it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise CannotStart(
            f"User id {os.geteuid()} has no name, which PostgreSQL needs: run as a user of /etc/passwd, "
            "or set FLEETPROF_DATABASE_URL."
        ) from None


def _other(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, own=False)
