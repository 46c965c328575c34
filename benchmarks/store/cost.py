"""Cost of a block: wall and CPU seconds of this process, and CPU seconds of the PostgreSQL server."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.cpu_time import tree_cpu_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from services.embedded.postgres import EmbeddedPostgres


@dataclass
class Cost:
    """Seconds, summed over blocks."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    server_cpu_s: float = 0.0

    @contextmanager
    def of(self, server: EmbeddedPostgres) -> Iterator[None]:
        """Add the cost of the block."""
        wall, cpu, server_cpu = time.monotonic(), time.process_time(), tree_cpu_s(server.pid or 0)
        yield
        self.wall_s += time.monotonic() - wall
        self.cpu_s += time.process_time() - cpu
        self.server_cpu_s += tree_cpu_s(server.pid or 0) - server_cpu
