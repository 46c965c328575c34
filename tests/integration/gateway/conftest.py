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
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("gateway"), "--label", "rack=b7") as started:
        yield started
