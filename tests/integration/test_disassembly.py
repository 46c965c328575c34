"""GIVEN captures with samples at known addresses WHEN a function's instructions are requested THEN each has its samples."""

import hashlib
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import zstandard
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select, update

from fleetpb import capture_pb2
from services.api.app import create_app
from services.disassembly.binary_files import BinaryFiles, disassembler_of
from services.disassembly.service import DisassemblyService
from services.symbols.symbol_service import SymbolService
from storage import captures, visits
from storage.archive import Archive, capture_key
from storage.captures import NewCapture
from storage.query.answers.answer import adapter
from storage.query.answers.disassembly import DisassemblyAnswer
from storage.query.query_engine import QueryEngine
from storage.schema import Outcome, capture
from symbolizer.builds.builder import fleet_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.images.resolve import EXACT, Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester
from tests.access_records import access_of
from tests.sampled_campaign import Campaign
from tests.synthetic_captures import PERIOD, SyntheticCapture

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TOKEN = "v" * 24
SIZES = {"east": 100, "west": 20}
SOURCE = """
#include <stdio.h>
static inline __attribute__((always_inline)) int mix(int x) { return x * 31 ^ (x >> 3); }
__attribute__((noinline)) int work(int n)
{
    int sum = 1;
    for (int i = 0; i < n; i++)
        sum += mix(sum) * i;
    return sum;
}
__attribute__((noinline)) int idle(int n) { return n * 7; }
int main(int argc, char **argv) { printf("%d\\n", work(argc) + idle(argc)); return 0; }
"""


class Build:
    """A build of the program."""

    def __init__(self, folder: Path, name: str, *options: str) -> None:
        folder.mkdir()
        (folder / "prog.c").write_text(SOURCE)
        subprocess.run(
            [
                "gcc",
                "-g",
                "-Wl,--build-id",
                f"-fdebug-prefix-map={folder}=/src",
                *options,
                "prog.c",
                "-o",
                name,
            ],
            cwd=folder,
            check=True,
        )
        self.path = folder / name
        self.elf = ElfFile(self.path.read_bytes())
        self.build_id = self.elf.build_id
        symbols = read_symbols(self.elf)
        self.at = {one.name: (one.start, one.end) for one in map(symbols.symbol, range(len(symbols)))}

    def instructions(self, function: str) -> list[int]:
        """Addresses of the function's instructions, by objdump."""
        start, end = self.at[function]
        said = subprocess.run(
            ["objdump", "-d", f"--start-address={start:#x}", f"--stop-address={end:#x}", str(self.path)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        lines = (line.split(":\t") for line in said.splitlines() if line.startswith("  "))
        return [int(line[0], 16) for line in lines if len(line) > 1 and len(line[1].split("\t")) > 1]

    def offset(self, address: int) -> int:
        found = next(s for s in self.elf.segment_map.segments if s.vaddr <= address < s.vaddr + s.filesz)
        return found.offset + address - found.vaddr


Taken = Mapping[str, Mapping[tuple[Build, int], int]]
"""Samples by application, then by build and address."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Build]:
    if shutil.which("gcc") is None or shutil.which("objdump") is None:
        pytest.skip("gcc or binutils is not installed")
    folder = tmp_path_factory.mktemp("builds")
    return Build(folder / "new", "prog", "-O2"), Build(folder / "old", "prog", "-O1")


class Fleet:
    """A campaign whose captures have known addresses, ingested by a worker's own code."""

    def __init__(self, engine: Engine, archive: Archive, folder: Path) -> None:
        self.engine, self.archive, self.folder = engine, archive, folder
        self.random = random.Random(5)
        self.drawn: list[UUID] = []

    def visit(self, taken: Taken, *, where: str = "east", moved: bool = False) -> UUID:
        """A visit; `moved`: the machine has the binaries at paths that the server does not have."""
        at = NOON + timedelta(minutes=len(self.drawn))
        with self.engine.begin() as connection:
            drawn = Campaign(connection, SIZES, random=self.random).draw(at, where)
            blob = zstandard.compress(capture_of(drawn.visit_id, taken, moved=moved).SerializeToString())
            key = capture_key(drawn.day, drawn.visit_id)
            self.archive.put(key, blob)
            digest = hashlib.sha256(blob).digest()
            new = NewCapture(drawn.visit_id, drawn.day, key, len(blob), len(blob), digest, 1)
            captures.record(connection, new)
            visits.finish(
                connection, drawn.visit_id, outcome=Outcome.ANSWERED, detail="", ended_at=at, seconds=5.0
            )
        caches = fleet_symcaches(self.engine, self.archive, self.folder / "cache")
        resolver = Resolver(LocalFiles(debug_roots=()), caches)
        assert Ingester(self.engine, self.archive, resolver).ingest(drawn.visit_id) is not None
        self.drawn.append(drawn.visit_id)
        return drawn.visit_id


def capture_of(visit_id: UUID, taken: Taken, *, moved: bool) -> capture_pb2.Capture:
    made = SyntheticCapture(visit_id)
    mapping: dict[Build, int] = {}
    samples: dict[int, dict[int, int]] = {}
    for application, counts in taken.items():
        group = made.group(f"/usr/bin/{application}", comm=application)
        samples[group] = {}
        for (build, address), count in counts.items():
            if build not in mapping:
                path = f"/nowhere/{build.path.name}" if moved else str(build.path)
                mapping[build] = made.mapping(path, build_id=build.build_id)
            offset = build.offset(address)
            start = next((s for s, e in build.at.values() if s <= address < e), address)
            frames = made.message.frames
            frames.mapping.append(mapping[build])
            frames.offset.append(offset)
            frames.into_function.append(1 + offset - build.offset(start))
            frames.flags.append(EXACT)
            samples[group][made.stack([len(frames.mapping) - 1])] = count
    made.segment(samples)
    del made.message.strings[:]
    made.message.strings.extend(made._strings)
    return made.message


@pytest.fixture
def fleet(engine: Engine, archive: Archive, tmp_path: Path) -> Fleet:
    return Fleet(engine, archive, tmp_path)


@pytest.fixture
def client(engine: Engine, archive: Archive, tmp_path: Path) -> Iterator[TestClient]:
    queries = QueryEngine(engine)
    places = BinaryFiles(
        tmp_path / "api", (), (), 0, download_bytes=1 << 20, copies_bytes=1 << 30, cache_bytes=1 << 30
    )
    app = create_app(
        queries,
        access_of(tmp_path / "state", [f"viewer:{TOKEN}"]),
        static=tmp_path,
        instructions=DisassemblyService(queries, archive, disassembler_of(places, engine, archive)),
    )
    with TestClient(app, base_url="http://127.0.0.1:7070") as made:
        made.headers["Authorization"] = f"Bearer {TOKEN}"
        yield made
    queries.close()


def ask(client: TestClient, status: int = 200, **query: str) -> dict:
    around = {"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T13:00:00Z", "function": "work"}
    response = client.get("/api/v1/disassembly", params=around | query)
    assert response.status_code == status, response.text
    if status == 200:
        adapter(DisassemblyAnswer).validate_python(response.json(), strict=False)
    return response.json()


def spread(
    build: Build, seed: int, functions: tuple[str, ...] = ("work", "idle")
) -> dict[tuple[Build, int], int]:
    chosen = random.Random(seed)
    return {
        (build, address): chosen.randrange(1, 50)
        for function in functions
        for address in build.instructions(function)
        if chosen.random() < 0.7
    }


def counted(answer: dict) -> dict[int, int]:
    return {int(row["address"], 16): row["samples"] for row in answer["rows"] if row["samples"]}


def expected(
    build: Build, takens: list[Taken], applications: tuple[str, ...] = ("alpha", "beta")
) -> dict[int, int]:
    start, end = build.at["work"]
    found: Counter[int] = Counter()
    for taken in takens:
        for application in applications:
            for (of, address), count in taken.get(application, {}).items():
                if of is build and start <= address < end:
                    found[address] += count
    return dict(found)


def test_every_instruction_has_its_samples(client, fleet: Fleet, builds):
    new, _ = builds
    takens = [{"alpha": spread(new, n), "beta": spread(new, 100 + n)} for n in range(4)]
    for taken in takens:
        fleet.visit(taken)
    answer = ask(client)
    truth = expected(new, takens)
    assert counted(answer) == truth
    assert [int(row["address"], 16) for row in answer["rows"]] == new.instructions("work")
    assert answer["samples"] == sum(truth.values())
    assert answer["seconds"] == pytest.approx(sum(truth.values()) * PERIOD * 1e-9)
    assert (answer["samples_hidden"], answer["samples_inside"], answer["cut"]) == (0, 0, None)
    assert answer["code"]["origin"] == str(new.path)
    assert answer["code"]["architecture"] == "x86-64"
    assert answer["code"]["missing"] is None
    assert answer["build_id"] == new.build_id.hex()
    read = answer["captures"]
    assert (read["visits"], read["chosen"], read["read"], read["complete"]) == (4, 4, 4, True)
    assert {row["file"] for row in answer["rows"]} == {"/src/prog.c"}
    assert "mix" in {row["inlined"] for row in answer["rows"]}
    # Ingested data has the samples of the inlined function under its own name.
    mixed = ask(client, function="mix")["itself"]["self_samples"]
    assert answer["itself"]["self_samples"] + mixed == answer["samples"]
    assert sum(build["self_samples"] for build in answer["builds"]) == answer["itself"]["self_samples"]


def test_label_matchers_choose_processes_within_captures(client, fleet: Fleet, builds):
    new, _ = builds
    takens = [{"alpha": spread(new, n), "beta": spread(new, 100 + n)} for n in range(2)]
    for taken in takens:
        fleet.visit(taken)
    assert counted(ask(client, select='{application="alpha"}')) == expected(new, takens, ("alpha",))
    assert counted(ask(client, select='{application!="alpha"}')) == expected(new, takens, ("beta",))


def test_visits_are_weighted_as_estimates_are(client, fleet: Fleet, builds):
    new, _ = builds
    takens = [{"alpha": spread(new, n)} for n in range(6)]
    where = ("east", "east", "west", "east", "west", "east")
    for taken, place in zip(takens, where, strict=True):
        fleet.visit(taken, where=place)
    answer = ask(client)
    assert answer["captures"]["weighted"]
    weight = {place: SIZES[place] / where.count(place) for place in SIZES}
    truth: Counter[int] = Counter()
    for taken, place in zip(takens, where, strict=True):
        for address, count in expected(new, [taken]).items():
            truth[address] += weight[place] * count
    whole = sum(truth.values())
    for row in answer["rows"]:
        assert row["share"] == pytest.approx(truth[int(row["address"], 16)] / whole, abs=1e-12)
    assert sum(row["share"] for row in answer["rows"]) == pytest.approx(1.0)


def test_a_part_of_the_visits_is_read_and_said(client, fleet: Fleet, builds):
    new, _ = builds
    takens = {fleet.visit(taken): taken for taken in ({"alpha": spread(new, n)} for n in range(6))}
    answer = ask(client, captures="2")
    read = answer["captures"]
    assert (read["visits"], read["chosen"], read["read"], read["complete"]) == (6, 2, 2, False)
    assert "2 of 6 visits" in read["sentence"]
    pairs = [(a, b) for a in takens.values() for b in takens.values() if a is not b]
    assert counted(answer) in [expected(new, list(pair)) for pair in pairs]
    assert ask(client, captures="2")["rows"] == answer["rows"], "the same selection chooses the same visits"
    assert ask(client)["samples"] == sum(expected(new, list(takens.values())).values())


def test_captures_that_are_gone_are_counted(client, fleet: Fleet, engine: Engine, archive: Archive, builds):
    new, _ = builds
    takens = {fleet.visit(taken): taken for taken in ({"alpha": spread(new, n)} for n in range(3))}
    old, lost, kept = takens
    with engine.begin() as connection:
        key = connection.scalar(select(capture.c.blob).where(capture.c.visit_id == lost))
        connection.execute(update(capture).where(capture.c.visit_id == old).values(blob=""))
    archive.delete(key)
    answer = ask(client)
    read = answer["captures"]
    assert (read["read"], read["not_kept"], read["unreadable"], read["complete"]) == (1, 1, 1, False)
    assert counted(answer) == expected(new, [takens[kept]])


def test_each_build_has_its_own_instructions(client, fleet: Fleet, builds):
    new, old = builds
    takens = [
        {"alpha": spread(old, 1)},
        {"alpha": spread(new, 2), "beta": spread(new, 3)},
        {"alpha": spread(new, 4), "beta": spread(old, 5)},  # this visit has both
    ]
    for taken in takens:
        fleet.visit(taken)
    answer = ask(client)
    assert [build["key"] for build in answer["builds"]] == [new.build_id.hex(), old.build_id.hex()]
    assert answer["build_id"] == new.build_id.hex()
    assert answer["unknown_build_samples"] > 0
    assert counted(answer) == expected(new, takens)
    other = ask(client, build_id=old.build_id.hex())
    assert other["build_id"] == old.build_id.hex()
    assert counted(other) == expected(old, takens)
    assert [int(row["address"], 16) for row in other["rows"]] == old.instructions("work")
    assert "No build" in ask(client, 400, build_id="ab" * 20)["detail"]


def test_without_the_binary_the_answer_says_which_upload_helps(client, fleet: Fleet, builds, tmp_path: Path):
    new, _ = builds
    subprocess.run(["objcopy", "--strip-all", str(new.path), "prog.bare"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--only-keep-debug", str(new.path), "prog.debug"], cwd=tmp_path, check=True)
    taken: Taken = {"alpha": spread(new, 1)}
    start, _ = new.at["work"]
    nameless = f"prog+{new.offset(start):#x}"
    fleet.visit(taken, moved=True)
    answer = ask(client, function=nameless)
    assert counted(answer) == {new.offset(a): n for a, n in expected(new, [taken]).items()}
    assert answer["code"]["addresses"] == "file"
    assert answer["code"]["origin"] is None
    assert "`fleetprof symbols upload /nowhere/prog`" in answer["code"]["missing"]
    assert {row["mnemonic"] for row in answer["rows"]} == {None}
    service = SymbolService(fleet.engine, fleet.archive)
    service.add(tmp_path / "prog.debug", name="prog.debug")
    answer = ask(client, function=nameless)
    assert answer["code"]["addresses"] == "virtual"
    assert counted(answer) == expected(new, [taken])
    assert "symbols upload" in answer["code"]["missing"]
    service.add(tmp_path / "prog.bare", name="prog.bare")
    answer = ask(client, function=nameless)
    assert answer["code"]["missing"] is None
    assert "prog.bare" in answer["code"]["origin"]
    assert counted(answer) == expected(new, [taken])
    assert [int(row["address"], 16) for row in answer["rows"]][
        : len(new.instructions("work"))
    ] == new.instructions("work")


def test_a_function_that_does_not_run_has_no_instructions(client, fleet: Fleet, builds):
    answer = ask(client, function="nothing")
    assert (answer["rows"], answer["functions"], answer["build_id"]) == ([], [], None)
    assert answer["code"]["missing"] == "No stack of the selection contains the function."
    fleet.visit({"alpha": spread(builds[0], 1)})
    assert ask(client, binary="other")["rows"] == []
    assert ask(client, binary="prog")["rows"]


def test_machine_code_is_shown_only_of_functions_of_the_selection(client, fleet: Fleet, builds):
    new, _ = builds
    fleet.visit({"alpha": {(new, new.at["idle"][0]): 3}})
    assert ask(client)["rows"] == [], "no sample is in it"
    shown = ask(client, function="idle")["rows"]
    assert [int(row["address"], 16) for row in shown] == new.instructions("idle")
    before = {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T11:00:00Z"}
    assert ask(client, function="idle", **before)["rows"] == []
    client.headers.pop("Authorization")
    ask(client, 401, function="idle")


def test_bad_questions_are_refused(client):
    assert "frames" in ask(client, 400, focus="work")["detail"]
    assert "function" in ask(client, 400, function="")["detail"]
    ask(client, 422, captures="0")


def test_rows_are_available_as_csv(client, fleet: Fleet, builds):
    fleet.visit({"alpha": spread(builds[0], 1)})
    query = {"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T13:00:00Z", "function": "work"}
    response = client.get("/api/v1/disassembly", params=query, headers={"Accept": "text/csv"})
    lines = response.text.splitlines()
    assert lines[0].split(",")[:4] == ['"address"', '"bytes"', '"mnemonic"', '"operands"']
    assert len(lines) == 1 + len(ask(client)["rows"])
