import resource
from collections.abc import Iterator

import pytest

from symbolizer.worker.descriptor_limit import MOST, allow_descriptors


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def limits(soft: int) -> tuple[int, int]:
    """The limits before and after, beginning with this soft one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allow_descriptors()
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def test_as_many_as_are_allowed_may_be_open() -> None:
    soft, hard = limits(512)
    assert soft == (MOST if hard == resource.RLIM_INFINITY else min(hard, MOST))


def test_what_is_higher_stays() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert limits(hard) == (hard, hard)
