"""Damaged inputs tried, and what came of them."""

import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gateway.errors import GatewayError
from tests.corrupted_gateway.damage import Act, damaged
from tests.corrupted_gateway.parsers import parsers

SECONDS = 1.0
"""CPU time of one input; the slowest takes 0.05 s."""
MEMORY_BYTES = 256 << 20


class Hang(BaseException):
    """No `Exception`, so that nobody who catches those takes it for his own."""


def outcome(act: Act, data: bytes, chance: random.Random) -> str:
    """What came of it; a finding begins with `!`."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        raise Hang(frame.f_code.co_qualname if frame else "")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        act(data, chance)
    except GatewayError as error:
        return type(error).__name__
    except Hang as error:
        return f"!hang in {error}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else ""
        return f"!{type(error).__name__} in {where}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "used"


@dataclass
class Tried:
    """What came of one parser's inputs."""

    name: str
    inputs: int
    outcomes: Counter[str]
    findings: int
    slowest_s: float


def trials(folder: Path, *, count: int, seed: int, only: Sequence[str] = ()) -> Iterator[Tried]:
    """Try each parser on so many inputs; an input is the same whatever came before it."""
    for name, parser in parsers(folder).items():
        if only and name not in only:
            continue
        tried = Tried(name, 0, Counter(), 0, 0.0)
        for number in range(count):
            chance = random.Random(f"{name} {seed} {number}")
            data = damaged(parser, chance)
            began = time.process_time()
            came = outcome(parser.act, data, chance)
            tried.slowest_s = max(tried.slowest_s, time.process_time() - began)
            tried.inputs += 1
            tried.outcomes[came.partition(":")[0]] += 1
            if came.startswith("!"):
                tried.findings += 1
                kept = (
                    Path(tempfile.gettempdir())
                    / f"corrupted-gateway-{name.replace('/', '-').replace(' ', '-')}-{number}"
                )
                if tried.findings <= 3:
                    kept.write_bytes(data)
                    sys.stdout.write(f"{name}, input {number}: {came[1:]} ({kept})\n")
        yield tried


def limit_memory() -> None:
    """From now on this process may have a quarter of a gigabyte more than it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))
