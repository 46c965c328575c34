"""The `fleetprof up` of a state directory: its lock and the addresses of its parts.

A lock file excludes a second `up`. A file beside it, readable only by its user, holds the addresses of the running
one's parts, so other commands find it without settings.
"""

import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from services.embedded.server_folder import make_folder
from services.errors import AlreadyRunning, CannotStart
from services.monitoring.metrics_address import MetricsAddress


@dataclass(frozen=True, slots=True)
class RunningDeployment:
    """Addresses of the parts of a running `up`."""

    pid: int
    database_url: str
    redis_url: str
    api_url: str
    gateway: str
    """gRPC target of the gateway."""


def run_dir(state_dir: Path) -> Path:
    """Folder of the sockets and the address file; only its user may enter."""
    return state_dir / "run"


PARTS_WITH_METRICS = ("collector", "worker", "gateway")
"""Parts of `up` with a socket of their own for probes and scrapes; the API answers them at its own address."""


def metrics_address(state_dir: Path, part: str) -> MetricsAddress:
    """Address of /healthz, /readyz and /metrics of a part of `up`."""
    return MetricsAddress(path=run_dir(state_dir) / f"{part}-metrics.sock")


def url_command(state_dir: Path, usual: Path | None) -> str:
    """Command that prints a link to the `up` of a state directory; `usual` is the commands' default (None: unknown)."""
    if state_dir == usual:
        return "fleetprof url"
    return f"FLEETPROF_STATE_DIR={shlex.quote(str(state_dir.absolute()))} fleetprof url"


@contextmanager
def lock_state_dir(state_dir: Path, usual: Path | None = None) -> Iterator[None]:
    """Hold the exclusive lock of this state directory; `usual` is the directory that commands use by default.

    Raises AlreadyRunning with the other process's id and address, CannotStart for an unusable folder.
    """
    make_folder(state_dir)
    if os.geteuid() == 0 and (owner := state_dir.stat().st_uid) != 0:
        raise CannotStart(
            f"The state directory {state_dir} belongs to user {owner}, who could redirect root's files: "
            "run as that user, or set FLEETPROF_STATE_DIR to a folder that belongs to root."
        )
    folder = run_dir(state_dir)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(folder / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotStart(
            f"Cannot write to the state directory {state_dir}: {error.strerror}. Run as its owner, "
            "or set FLEETPROF_STATE_DIR."
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            other = _read(state_dir)
            where = f" (process {other.pid}, {other.api_url})" if other else ""
            raise AlreadyRunning(
                f"`fleetprof up` already runs with {state_dir}{where}. "
                f"To print a link to it: {url_command(state_dir, usual)}. A second one needs its own state directory "
                "(--state-dir) or size (--simulate)."
            ) from error
        (folder / "up.json").unlink(missing_ok=True)
        try:
            yield
        finally:
            (folder / "up.json").unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def publish_deployment(state_dir: Path, deployment: RunningDeployment) -> None:
    """Write the addresses of the parts; the caller holds the lock."""
    target = run_dir(state_dir) / "up.json"
    fresh = target.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(deployment), file)
    fresh.replace(target)


def find_running_deployment(state_dir: Path) -> RunningDeployment | None:
    """The `up` that now runs with this state directory; None if there is none or it is still starting."""
    return _read(state_dir) if is_held(state_dir) else None  # ignore the file of a killed `up`


def not_running_reason(state_dir: Path) -> str:
    """Sentence why `find_running_deployment` found none, and which simulated fleet may be meant."""
    if is_held(state_dir):
        return f"The `fleetprof up` of {state_dir} is still starting: retry when it has printed its URL."
    sentence = f"No `fleetprof up` runs with the state directory {state_dir}."
    homes = filter(is_held, sorted(state_dir.glob("simulated/*")))  # see services.deployment.simulated_fleet
    if home := next(homes, None):
        sentence += f" One with a simulated fleet runs: to use it, set FLEETPROF_STATE_DIR={home}."
    return sentence


def is_held(state_dir: Path) -> bool:
    """Whether a `fleetprof up` runs or starts with this state directory."""
    try:
        descriptor = os.open(run_dir(state_dir) / "up.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _read(state_dir: Path) -> RunningDeployment | None:
    try:
        return RunningDeployment(**json.loads((run_dir(state_dir) / "up.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
