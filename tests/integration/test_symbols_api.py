"""GIVEN a repository of symbols WHEN people bring files over HTTP THEN they are told what they are and what comes of them."""

import gzip
import hashlib
import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard
from fastapi.testclient import TestClient
from sqlalchemy import Engine, insert, select

from services.api import symbol_models
from services.api.app import create_app
from services.api.problems import ProblemDocument
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.query.query_engine import QueryEngine
from storage.schema import binary, debug_file
from storage.symbols import recent_changes, reprocessing
from symbolizer.source_text.roots import SourceRoot
from symbolizer.source_text.text import SourceTexts
from tests.access_records import access_of
from tests.browser.ingested import IngestedFleet
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

VIEWER, OPERATOR = "v" * 24, "o" * 24
BASE = "http://127.0.0.1:7070"
LIBZ = "aa" * 20
"""Build-id of the library that `IngestedFleet` has no names for."""
LARGEST = 4 << 20
SOURCE = """
int adler(int n) { int sum = 1; for (int i = 0; i < n; i++) sum = sum * 31 + i; return sum; }
int crc(int n) { return adler(n) ^ n; }
"""


@pytest.fixture(scope="module")
def libz(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One build of a library: as it was built, stripped, its debug file; and another build of it."""
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("gcc or binutils is not installed")
    folder = tmp_path_factory.mktemp("libz")
    (folder / "z.c").write_text(SOURCE)

    def run(*command: str) -> None:
        subprocess.run(command, cwd=folder, check=True)

    def built(name: str, build_id: str) -> None:
        run("gcc", "-g", "-O1", "-shared", "-fPIC", f"-Wl,--build-id=0x{build_id}", "-o", name, "z.c")

    built("whole", LIBZ)
    built("other", "bb" * 20)
    run("objcopy", "--strip-all", "whole", "stripped")
    run("objcopy", "--strip-debug", "whole", "table")
    run("objcopy", "--only-keep-debug", "whole", "debug")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def told() -> list[tuple[str, str]]:
    """What the workers were told: (key, what changed)."""
    return []


@pytest.fixture
def service(engine: Engine, archive: Archive, told: list[tuple[str, str]], tmp_path: Path) -> SymbolService:
    checkout = SourceRoot("/build/checkout", tmp_path / "checkout")
    texts = SourceTexts(engine, archive, folder=tmp_path, roots=[checkout])
    return SymbolService(
        engine, archive, texts=texts, announce=lambda *news: told.append(news), largest_bytes=LARGEST
    )


@pytest.fixture
def anyone(engine: Engine, service: SymbolService, tmp_path: Path):
    access = access_of(tmp_path / "state", [f"viewer:{VIEWER}", f"operator:{OPERATOR}"])
    queries = QueryEngine(engine)
    app = create_app(queries, access, static=tmp_path, symbols=service, uploads=tmp_path / "uploads")
    with TestClient(app, base_url=BASE) as client:
        yield client
    queries.close()


@pytest.fixture
def viewer(anyone: TestClient) -> TestClient:
    anyone.headers["Authorization"] = f"Bearer {VIEWER}"
    return anyone


@pytest.fixture
def operator(anyone: TestClient) -> TestClient:
    anyone.headers["Authorization"] = f"Bearer {OPERATOR}"
    return anyone


def problem(response, status: int) -> str:
    assert response.status_code == status, response.text
    return ProblemDocument.model_validate(response.json()).detail


def upload(
    client: TestClient, content: bytes, *, headers: dict[str, str] | None = None, **query: str
) -> dict:
    response = client.post("/api/v1/symbols", content=content, params=query, headers=headers)
    assert response.status_code == 200, response.text
    symbol_models.UploadAnswer.model_validate(response.json())
    return response.json()


def shown(client: TestClient, key: str) -> dict:
    response = client.get(f"/api/v1/symbols/{key}")
    assert response.status_code == 200, response.text
    symbol_models.BinaryAnswer.model_validate(response.json())
    return response.json()


# --- Uploads ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_debug_file_is_recognised_stored_and_workers_are_told(operator, libz, told, engine):
    IngestedFleet(engine).visit()
    answer = upload(operator, libz["debug"], name="libz.so.debug")
    assert answer["outcome"] == "new"
    assert answer["best"]
    assert answer["machine"] == "x86-64"
    assert answer["unnamed"] == 1
    assert answer["reprocessing_before"] == 0
    assert answer["file"]["key"] == LIBZ
    assert (answer["file"]["kind"], answer["file"]["quality"]) == ("debuginfo", "dwarf")
    assert answer["file"]["sha256"] == hashlib.sha256(libz["debug"]).hexdigest()
    assert answer["file"]["uploaded_by"].startswith("operator")
    assert told == [(LIBZ, "libz.so.debug was uploaded.")]


@pytest.mark.slow
def test_what_arrives_compressed_is_stored_as_it_was(operator, libz):
    for encoding, pack in (("zstd", zstandard.compress), ("gzip", gzip.compress), ("identity", bytes)):
        answer = upload(operator, pack(libz["whole"]), headers={"Content-Encoding": encoding})
        assert answer["file"]["sha256"] == hashlib.sha256(libz["whole"]).hexdigest()
        assert answer["file"]["bytes"] == len(libz["whole"])


@pytest.mark.slow
def test_the_best_file_wins_whatever_came_first(operator, libz):
    first = upload(operator, libz["stripped"], name="libz.so")
    assert first["best"]
    assert any("stripped" in note or "no function" in note for note in first["notes"]) or (
        first["file"]["quality"] == "dynsym"
    )
    better = upload(operator, libz["debug"], name="libz.so.debug")
    assert better["best"]
    assert better["replaced"]["name"] == "libz.so"
    worse = upload(operator, libz["table"], name="libz.so.sym")
    assert not worse["best"]
    assert any("better file" in note for note in worse["notes"])
    assert [file["quality"] for file in shown(operator, LIBZ)["files"]] == ["dwarf", "symtab", "dynsym"]


@pytest.mark.slow
def test_the_same_file_again_is_known(operator, libz):
    upload(operator, libz["debug"], name="a")
    assert upload(operator, libz["debug"], name="b")["outcome"] == "known"
    assert [file["name"] for file in shown(operator, LIBZ)["files"]] == ["b"]


@pytest.mark.slow
def test_an_uploader_can_ask_before_it_sends(operator, libz):
    upload(operator, libz["debug"], name="libz.so.debug")
    digests = [hashlib.sha256(libz[name]).hexdigest() for name in ("debug", "other")]
    answer = operator.get("/api/v1/debug-files", params={"sha256": digests}).json()
    symbol_models.KnownFiles.model_validate(answer)
    assert [file["sha256"] for file in answer["files"]] == digests[:1]
    assert answer["upload"] == {"allowed": True, "largest_bytes": LARGEST}
    assert operator.get("/api/v1/debug-files").json()["files"] == []
    problem(operator.get("/api/v1/debug-files", params={"sha256": "abc"}), 422)


@pytest.mark.slow
def test_a_removed_file_gives_way_to_the_next(operator, libz, told):
    upload(operator, libz["table"])
    best = upload(operator, libz["debug"], name="libz.so.debug")["file"]
    response = operator.delete(f"/api/v1/symbols/{LIBZ}/{best['sha256']}")
    assert response.json() == {"key": LIBZ, "sha256": best["sha256"]}
    assert [file["quality"] for file in shown(operator, LIBZ)["files"]] == ["symtab"]
    assert told[-1] == (LIBZ, "libz.so.debug was removed.")
    problem(operator.delete(f"/api/v1/symbols/{LIBZ}/{best['sha256']}"), 404)


@pytest.mark.slow
def test_what_a_removed_file_may_have_named_is_ingested_again_and_workers_hear_of_it(operator, libz, engine):
    best = upload(operator, libz["debug"], name="libz.so.debug")["file"]
    IngestedFleet(engine).visit()
    with engine.connect() as connection:
        before = recent_changes.changed_since(connection, None).until + recent_changes.OVERLAP
    operator.delete(f"/api/v1/symbols/{LIBZ}/{best['sha256']}")
    with engine.connect() as connection:
        found = reprocessing.latest(connection, [LIBZ])[LIBZ]
        assert (found.why, found.left) == ("libz.so.debug was removed.", 1)
        assert LIBZ in recent_changes.changed_since(connection, before).changed


def test_functions_of_an_unnamed_kernel_are_refused_with_advice(operator):
    listed = b"ffffffff81000000 T _stext\n"
    listed += b"".join(b"ffffffff81%06x T function_%d\n" % (k * 64, k) for k in range(1, 50))
    listed += b"ffffffff81900000 T _etext\n"
    assert "vmlinux" in problem(operator.post("/api/v1/symbols", content=listed), 422)


def test_a_broker_that_is_away_keeps_no_upload_from_being_stored(engine, archive, libz, tmp_path):
    def away(key: str, why: str) -> None:
        raise ConnectionError("nobody there")

    (tmp_path / "libz.so.debug").write_bytes(libz["debug"])
    for announce in (away, None):
        service = SymbolService(engine, archive, announce=announce)
        assert service.add(tmp_path / "libz.so.debug", name="libz.so.debug").added.best


# --- What is refused ----------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_no_symbol_file_is_refused_with_a_reason(operator, engine):
    problem(operator.post("/api/v1/symbols", content=b""), 400)
    for content in (b"x", b"\x7fELF" + bytes(60), b"#!/bin/sh\necho hello\n" * 100):
        assert len(problem(operator.post("/api/v1/symbols", content=content), 422)) > 20
    with engine.connect() as connection:
        assert connection.execute(select(debug_file)).all() == []


@pytest.mark.slow
def test_a_damaged_file_is_refused_or_stored_never_a_mistake(operator, libz):
    for cut in (0.1, 0.9):
        content = bytearray(libz["whole"])
        at = int(len(content) * cut)
        content[at : at + 4000] = b"\xff" * 4000
        assert operator.post("/api/v1/symbols", content=bytes(content)).status_code in {200, 422}


def test_size_is_limited_packed_unpacked_and_unsaid(operator):
    def parts():
        for _ in range(2 + (LARGEST >> 20)):
            yield bytes(1 << 20)

    assert "4,194,304" in problem(operator.post("/api/v1/symbols", content=bytes(LARGEST + 1)), 413)
    problem(operator.post("/api/v1/symbols", content=parts()), 413)
    for encoding, packed in (("zstd", zstandard.compress), ("gzip", gzip.compress)):
        bomb = packed(bytes(LARGEST + 1))
        assert len(bomb) < 10_000
        response = operator.post("/api/v1/symbols", content=bomb, headers={"Content-Encoding": encoding})
        problem(response, 413)


def test_a_body_that_does_not_unpack_is_refused(operator, libz):
    for encoding, pack in (("zstd", zstandard.compress), ("gzip", gzip.compress)):
        packed = pack(libz["whole"])
        for body in (packed[: len(packed) // 2], packed[:-1], b"nonsense", b""):
            response = operator.post("/api/v1/symbols", content=body, headers={"Content-Encoding": encoding})
            problem(response, 400)
    response = operator.post("/api/v1/symbols", content=b"x", headers={"Content-Encoding": "br"})
    assert "zstd" in problem(response, 415)


def test_viewers_look_and_do_not_touch(viewer, libz):
    assert "operator" in problem(viewer.post("/api/v1/symbols", content=libz["debug"]), 403)
    assert "operator" in problem(viewer.post("/api/v1/sources?key=x", content=b"x"), 403)
    problem(viewer.delete(f"/api/v1/symbols/{LIBZ}/{'0' * 64}"), 403)
    assert viewer.get("/api/v1/symbols").json()["upload"]["allowed"] is False


@pytest.mark.slow
@pytest.mark.parametrize(
    "route", ["symbols", "symbols/x", "debug-files", "source?binary=x&path=y", "reprocessings"]
)
def test_strangers_see_nothing(anyone, route: str):
    problem(anyone.get(f"/api/v1/{route}"), 401)
    problem(anyone.post("/api/v1/symbols", content=b"x"), 401)


@pytest.mark.slow
def test_pages_of_others_change_nothing(operator, libz):
    for origin in ("http://127.0.0.1:9999", "https://evil.example", "null"):
        response = operator.post("/api/v1/symbols", content=libz["debug"], headers={"Origin": origin})
        assert "origin" in problem(response, 403)
    upload(operator, libz["debug"], headers={"Origin": BASE})


def test_bodies_go_only_where_files_are_taken(operator):
    problem(operator.post("/api/v1/reprocessings", content=bytes(100_000)), 413)
    problem(operator.request("GET", "/api/v1/symbols", content=bytes(100_000)), 413)


# --- What is known ------------------------------------------------------------------------------


@pytest.mark.slow
def test_binaries_are_listed_by_what_they_hide(viewer, engine):
    fleet = IngestedFleet(engine)
    fleet.visit("web-01")
    fleet.visit("web-02")
    answer = viewer.get("/api/v1/symbols").json()
    symbol_models.SymbolsAnswer.model_validate(answer)
    (libz,) = answer["binaries"]
    assert (libz["key"], libz["name"], libz["path"]) == (LIBZ, "libz.so", "/usr/lib/libz.so")
    assert (libz["samples"], libz["unresolved"], libz["machines"], libz["captures"]) == (40, 40, 2, 2)
    assert libz["share"]["value"] == pytest.approx(20 / 150)
    assert libz["share"]["lo"] < libz["share"]["value"] < libz["share"]["hi"]
    assert libz["cores"]["value"] > 0
    assert libz["quality"] is None
    assert libz["reprocessing"] is None


@pytest.mark.slow
def test_the_list_is_searched_sorted_and_paged(operator, engine, libz):
    IngestedFleet(engine).visit()
    upload(operator, libz["other"], name="elsewhere.so")

    def names(**query: object) -> list[str]:
        answer = operator.get("/api/v1/symbols", params=query).json()
        symbol_models.SymbolsAnswer.model_validate(answer)
        return [row["name"] for row in answer["binaries"]]

    everything = names(show="all", sort="name")
    assert everything == sorted(everything, key=str.casefold)
    assert {"libz.so", "search", "elsewhere.so"} <= set(everything)
    assert names(show="all", sort="name", limit=1, offset=1) == everything[1:2]
    assert names(show="all", find="ELSE") == ["elsewhere.so"]
    assert names(show="all", find=LIBZ) == ["libz.so"]
    assert names(find="nothing") == []
    problem(operator.get("/api/v1/symbols", params={"sort": "-price"}), 422)


@pytest.mark.slow
def test_nothing_was_sampled_yet(viewer):
    answer = viewer.get("/api/v1/symbols").json()
    symbol_models.SymbolsAnswer.model_validate(answer)
    assert answer["binaries"] == []


def test_any_key_can_be_asked_for(viewer):
    for key in ("go:abc/def-1", "path:/usr/bin/x", "sha256:00", "ä b", "a/../b"):
        assert key in problem(viewer.get(f"/api/v1/symbols/{quote(key, safe='')}"), 404)


def test_reprocessings_are_followed(viewer, engine):
    IngestedFleet(engine).visit()
    with engine.begin() as connection:
        id_ = reprocessing.begin(
            connection, LIBZ, why="libz.so.debug was uploaded.", nameless=True, renamed=7
        )
    answer = viewer.get("/api/v1/reprocessings").json()
    symbol_models.Reprocessings.model_validate(answer)
    (one,) = answer["reprocessings"]
    assert (one["id"], one["renamed"], one["captures"], one["left"]) == (id_, 7, 1, 1)
    assert shown(viewer, LIBZ)["binary"]["reprocessing"] == one


# --- Sources ------------------------------------------------------------------------------------


def tar_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        archive.addfile(link("/build/link", "/etc/passwd"))
    return packed.getvalue()


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def ran(engine: Engine, *files: str, key: str = LIBZ, name: str = "libz.so") -> None:
    """A capture held the binary, and functions of these files were met in it."""
    with engine.begin() as connection:
        connection.execute(insert(binary).values(key=key, name=name, path=f"/usr/lib/{name}", kind="file"))
        write = FactWriter(connection)
        for file in files:
            write.function(f"of {file}", file=file, binary=name)


def source(client: TestClient, path: str, key: str = LIBZ):
    return client.get("/api/v1/source", params={"binary": key, "path": path})


def test_sources_are_kept_by_path_and_content(operator, engine):
    ran(engine, "/build/src/../z.c", "/build/z.h", "/build/link", "/build/none.c")
    body = zstandard.compress(
        tar_of({"/build/src/../z.c": SOURCE.encode(), "/build/z.h": "naïve".encode("latin-1")})
    )
    response = operator.post(
        "/api/v1/sources", params={"key": LIBZ}, content=body, headers={"Content-Encoding": "zstd"}
    )
    stored = {"key": LIBZ, "files": 2, "bytes": len(SOURCE) + 5, "skipped": 0, "sampled": True}
    assert response.json() == stored
    answer = source(operator, "/build/src/../z.c").json()
    symbol_models.SourceAnswer.model_validate(answer)
    assert answer["text"] == SOURCE
    assert answer["sha256"] == hashlib.sha256(SOURCE.encode()).hexdigest()
    question = {"binary": LIBZ, "path": "/build/src/../z.c"}
    colours = operator.get("/api/v1/source/highlighting", params=question).json()
    symbol_models.HighlightingAnswer.model_validate(colours)
    assert (colours["sha256"], colours["language"], colours["missing"]) == (answer["sha256"], "c", None)
    assert len(colours["lines"]) == len(SOURCE.split("\n"))
    header = source(operator, "/build/z.h").json()
    assert header["text"] == "naïve"
    assert (header["origin"], header["certain"]) == ("the store", True)
    for path in ("/build/link", "/build/none.c"):
        assert "neither uploaded" in problem(source(operator, path), 404)


@pytest.mark.slow
def test_a_checkout_is_read_where_nothing_was_uploaded(viewer, engine, tmp_path):
    ran(engine, "/build/checkout/z.c")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "z.c").write_text(SOURCE)
    answer = source(viewer, "/build/checkout/z.c").json()
    symbol_models.SourceAnswer.model_validate(answer)
    assert (answer["text"], answer["certain"]) == (SOURCE, False)


def test_only_files_that_a_binary_was_built_from_are_shown(operator, engine, tmp_path):
    """Below a root lie files with passwords, too, and an upload may have more than was asked for."""
    ran(engine, "/build/checkout/z.c")
    ran(engine, "/build/checkout/other.c", key="bb" * 20, name="other")
    (tmp_path / "checkout").mkdir()
    for name in ("z.c", "other.c", "settings.py"):
        (tmp_path / "checkout" / name).write_text("PASSWORD = 'secret'")
    response = operator.post(
        "/api/v1/sources", params={"key": LIBZ}, content=tar_of({"/build/secret.c": b"secret"})
    )
    assert response.status_code == 200
    assert source(operator, "/build/checkout/z.c").status_code == 200
    for path in ("/build/checkout/settings.py", "/build/checkout/other.c", "/build/secret.c", "/etc/passwd"):
        assert "No function of libz.so" in problem(source(operator, path), 404)
    for key in ("cc" * 20, "path:/usr/bin/x", "go:a/b"):
        assert "no capture contains it" in problem(source(operator, "/build/checkout/z.c", key), 404)


def test_what_is_no_archive_of_sources_is_refused(operator):
    for body in (b"x" * 600, b"\0" * 100, tar_of({"/a.c": b"text" * 300})[:900]):
        problem(operator.post("/api/v1/sources", params={"key": LIBZ}, content=body), 422)
