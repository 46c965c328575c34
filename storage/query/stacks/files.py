"""The folder with this machine's files of stacks and names: `FOLDER/IDENTITY.stacks`, one for each database.

Every API process maps the file of its database, and starts a child process to build it if no file is usable. So each
machine with an API has its own file, whatever other processes run there, and a collector on another machine needs no
access to it. The folder must be on a local disk: on a network file system, a file that another machine replaces becomes
invalid for processes that map it.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE

from sqlalchemy import Connection, select
from sqlalchemy.engine import URL

from storage import identity
from storage.query.stacks.errors import FileNotBuilt, UnusableFile
from storage.query.stacks.stack_file import StackFile, open_stack_file
from storage.schema import dictionary_epoch

_ENDING = ".stacks"
_PART = ".part"
_UNUSED_S = 30 * 86_400.0
_BUILDER = "storage.query.stacks.build"
_LONGEST_S = 3600.0
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_MOST_SAID = 500

log = logging.getLogger(__name__)


class StackFiles:
    """The folder, and the only access to its files. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """The first build creates the folder, readable by this user only."""
        self.folder = folder
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def path(self, name: str) -> Path:
        """Path of the file of the database with that identity."""
        return self.folder / f"{name}{_ENDING}"

    def open(self, connection: Connection) -> StackFile | None:
        """The database's file, mapped; None if no file is usable: the log has the cause. Raises `DatabaseError`."""
        named = identity.known(connection).current
        if named is None:
            return None
        path = self.path(named)
        try:
            file = open_stack_file(path)
        except FileNotFoundError:
            return None
        except (UnusableFile, OSError) as error:
            log.warning("the stack file is rebuilt: %s", error)
            return None
        made_of = file.made_of
        if made_of is None or made_of.identity != named or not made_of.is_there(connection):
            log.warning(
                "the stack file is rebuilt: %s was built from rows that the database does not have", path
            )
            return None
        with suppress(OSError):
            os.utime(path)  # for `remove_unused`
        return file

    @staticmethod
    def outdated(connection: Connection, file: StackFile) -> bool:
        """Whether the dictionaries were swept since it was built: it is correct, but larger than necessary."""
        epoch = connection.execute(select(dictionary_epoch.c.epoch)).scalar_one()
        return file.made_of is None or file.made_of.epoch != epoch

    def build(self, url: URL, instead_of: str) -> None:
        """Build the database's file in a child process, unless another than `instead_of` exists by then.

        Raises `FileNotBuilt`.
        """
        command = [sys.executable, "-m", _BUILDER, str(self.folder.absolute()), instead_of]
        # The child needs the variables of PostgreSQL's library, and none of this program's settings. The URL is secret
        # from other users, so it goes through standard input.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLEETPROF_")}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        with self._lock:
            if self._closed:
                return
            try:
                self._child = child = subprocess.Popen(
                    command,
                    cwd=_PACKAGE_ROOT,
                    env=environment,
                    stdin=PIPE,
                    stdout=DEVNULL,
                    stderr=PIPE,
                    text=True,
                )
            except OSError as error:
                raise FileNotBuilt(f"Cannot start a process to build the stack file: {error}.") from error
        try:
            _, said = child.communicate(url.render_as_string(hide_password=False), timeout=_LONGEST_S)
        except subprocess.TimeoutExpired as error:
            raise FileNotBuilt(f"The stack file was not built within {_LONGEST_S:.0f} s.") from error
        finally:
            child.kill()
            child.wait()
        if child.returncode and not self._closed:
            lines = said.strip().splitlines() or [f"status {child.returncode}"]
            raise FileNotBuilt(f"The stack file was not built in {self.folder}: {lines[-1][:_MOST_SAID]}")

    def close(self) -> None:
        """End a running build; its partial output is not a file yet."""
        with self._lock:
            self._closed = True
            if self._child is not None:
                self._child.kill()

    def remove_unused(self, connection: Connection) -> None:
        """Remove files of the database's former identities, files not opened for 30 days, and remains of killed builds.

        The caller must hold the folder's lock. Processes that have mapped a file keep its contents.
        """
        former = {self.path(name).name for name in identity.known(connection).former}
        for path in self.folder.glob(f"*{_ENDING}*"):
            with suppress(OSError):
                unused = path.stat().st_mtime < time.time() - _UNUSED_S
                if unused or path.suffix == _PART or path.name in former:
                    path.unlink()
