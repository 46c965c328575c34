"""Whether this machine permits perf events, and a daemon to ask."""

from collections.abc import Iterator

import pytest

from tests.gateway_daemon import (
    Daemon,
    require_perf_events,
    running,
)


@pytest.fixture(scope="module")
def permitted() -> None:
    require_perf_events()


@pytest.fixture(scope="module")
def daemon(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A running gateway with the module's `DAEMON_OPTIONS`."""
    options = getattr(request.module, "DAEMON_OPTIONS", ("--label", "rack=b7"))
    with running(tmp_path_factory.mktemp("gateway"), *options) as started:
        yield started
