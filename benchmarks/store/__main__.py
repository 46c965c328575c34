"""Cost of ingesting, storing and querying a fleet's facts, beside DuckDB and plain rows.

    make bench-store                          # 10⁷ facts, five minutes; FULL=1: 10⁸
    SIZE=smallest python -m benchmarks.store  # does it work: under a minute, writes nothing

The synthetic fleet has the shape of a real one: 8 strata, 2 campaigns, 200 programs, 20 to 100 process groups per
visit. Its history is as dense as the default campaign's: 29 million facts a day of 4,320 visits. Phases:

    load        most of the history in bulk, with known stacks, merged hour by hour
    ingest      its last part end to end, by two processes, from compressed captures and resolved frames, while the
                rollup process merges; a fifth of a visit's stacks are new
    merged      bytes of every table before the last day ends
    fold        daily rollups of its days
    compact     and rollups of 4 and 16 days; bytes of every table
    sparse      1.2 million facts (FULL: 2.5) over 30 days, in a separate database; bytes of every table
    lake        the history's last day, exported
    questions   on applications drawn by their traffic and windows of whole hours, with intervals, one after the other;
                if the history is shorter than a week or a month, so are the windows (`questions_are_about`)
    peers       the same questions to DuckDB over Parquet and to plain rows in PostgreSQL, on one campaign; results must
                be equal
    ingestion   the same questions while captures are ingested and merged
    waiting     the same questions while 200 visits wait for the rollup process
    serve       flame graphs over HTTP from an API process, to one, two and eight clients; everything as pprof
    cold        the first flame graph after a restart of PostgreSQL and the API

`ingest_facts_per_s` counts until the last fact is merged. It, `ingest_facts_per_cpu_s` and `ingest_cpu_us_per_fact` are
for processes whose caches contain every known stack and name, like those of workers after weeks.
`ingest_cpu_us_per_fact_cold` is for the first captures of the same two processes, with empty caches.

No result is reused, and the API's response cache is off. As in any API process, stacks, names and decoded cells and
chunks stay in memory between queries; kinds that end in `_undecoded` drop the decoded data first.

With --keep, the store and the figures of each phase stay in a folder. An interrupted run, or questions alone after a
code change, can resume there:

    python -m benchmarks.store --keep /tmp/store
    python -m benchmarks.store --reuse /tmp/store --only questions,peers
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.size import chosen
from benchmarks.store.calendar import latest
from benchmarks.store.database import bytes_by_table, running
from benchmarks.store.figures import report
from benchmarks.store.phases import PHASES, go_through
from benchmarks.store.run import Loaded, Run, loaded_from
from benchmarks.store.sizes import SIZES
from storage.database import open_engine

_LOG_WIDTH: Final = 170
_TERMINATED: Final = 128 + signal.SIGTERM


def main(arguments: list[str]) -> int:
    """Run it; 0 if the measurement succeeded."""
    wanted = _arguments(arguments)
    # Exit normally on SIGTERM, so that the servers end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    console = Console()
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    with ExitStack() as stack:
        if folder := wanted.keep or wanted.reuse:
            folder.mkdir(parents=True, exist_ok=True)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-store-", dir="/tmp")))
        server = stack.enter_context(running(folder))
        loaded = loaded_from(folder)
        if loaded is None:
            engine = open_engine(server.url(), application="bench")
            with engine.connect() as connection:
                loaded = Loaded(wanted.size, latest(datetime.now(UTC)), bytes_by_table(connection))
            engine.dispose()
        run = Run(server, folder, loaded)
        stack.callback(run.close)
        if wanted.questions:
            loaded.size = replace(loaded.size, questions=wanted.questions, slow_questions=wanted.questions)
        go_through(run, wanted.only)
    found = report(loaded)
    found.show(console)
    if not set(PHASES) <= set(loaded.done):
        console.print("\nnot written: only some phases were measured")
    elif loaded.size not in SIZES.values():
        console.print("\nnot written: not one of the three sizes")
    else:
        console.print(f"\n{found.written()}")
    return 0


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.store",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--keep", type=Path, metavar="DIR", help="make the store in this folder, and keep it")
    place.add_argument(
        "--reuse", type=Path, metavar="DIR", help="go on with the store that --keep left there"
    )
    parser.add_argument(
        "--only",
        type=_phases,
        default=[],
        metavar="PHASES",
        help=f"of: {', '.join(PHASES)}; those that make the store run too if they are not over",
    )
    parser.add_argument("--facts", type=_number, help="of the dense history (1e7)")
    parser.add_argument(
        "--days",
        type=int,
        default=0,
        help="spread them over so many days, at most 30, instead of as dense as the default campaign",
    )
    parser.add_argument("--stacks", type=_number, help="known before anything is ingested (450,000)")
    parser.add_argument("--questions", type=int, help="of each kind (60; 20 of those that read chunks)")
    wanted = parser.parse_args(arguments)
    size = SIZES[chosen()]
    if wanted.facts:
        ingested, warming = (
            min(each, wanted.facts // part) for each, part in ((size.ingested, 4), (size.warming, 8))
        )
        size = replace(size, name="other", facts=wanted.facts, ingested=ingested, warming=warming)
    if wanted.days:
        size = replace(size, name="other", days=wanted.days)
    if wanted.stacks:
        size = replace(size, name="other", stacks=wanted.stacks)
    if not 0 <= wanted.days <= 30:
        parser.error("--days is 1 to 30")
    if wanted.reuse and (not wanted.reuse.is_dir() or loaded_from(wanted.reuse) is None):
        parser.error(f"{wanted.reuse} has no store that --keep left")
    if wanted.keep and loaded_from(wanted.keep) is not None:
        parser.error(f"{wanted.keep} has a store already: --reuse goes on with it")
    wanted.size = size
    return wanted


def _phases(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in PHASES]:
        raise argparse.ArgumentTypeError(f"no such phase: {', '.join(unknown)}")
    return names


def _number(text: str) -> int:
    return int(float(text))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
