"""GIVEN archives of sources, hostile ones among them WHEN they are listed THEN files are found, and nothing large is read."""

import io
import shutil
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.symbols.errors import UnusableFile
from services.symbols.source_archive import Limits, Member, members

LIMITS = Limits(members=1000, file_bytes=1 << 20)
KIB = 1 << 10


class Counted(io.BytesIO):
    """Counts what is read of it."""

    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(size)
        self.bytes_read += len(part)
        return part


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def whole(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


def record(key: str, value: str = "v") -> bytes:
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest


def extended(kind: bytes, content: bytes) -> bytes:
    return header("extended", kind, len(content)) + whole(content)


def listed(content: bytes | IO[bytes]) -> list[str]:
    archive = io.BytesIO(content) if isinstance(content, bytes) else content
    return [member.name for member in members(archive, LIMITS)]


ONE = header("a.c") + bytes(2 * tarfile.BLOCKSIZE)


def test_files_are_found_where_they_lie() -> None:
    content = (
        header("a.c", size=5) + whole(b"int a") + header("b.c", size=600) + whole(b"b" * 600) + bytes(1024)
    )
    found = list(members(io.BytesIO(content), LIMITS))
    assert found == [Member("a.c", 512, 5), Member("b.c", 1536, 600)]
    assert [content[m.offset : m.offset + m.size] for m in found] == [b"int a", b"b" * 600]


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)  # fmt: skip
@pytest.mark.parametrize("size", [120 << 20, 65 * KIB, -512])
def test_a_large_extended_header_is_refused_before_it_is_read(kind: bytes, size: int) -> None:
    content = Counted(header("large", kind, size) + bytes(1 << 20))
    with pytest.raises(UnusableFile, match="extended header"):
        listed(content)
    assert content.bytes_read <= 16 * KIB


def test_global_headers_are_those_that_git_writes_and_no_more() -> None:
    comment = extended(tarfile.XGLTYPE, record("comment", "5978d04195de56c96611bd532bc6e49ab415ec7f"))
    assert listed(comment + ONE) == ["a.c"]
    many = b"".join(record(f"k{i}") for i in range(50_000))
    with pytest.raises(UnusableFile, match="extended header"):
        listed(extended(tarfile.XGLTYPE, many) + ONE)
    # Small ones add up, too.
    small = [extended(tarfile.XGLTYPE, b"".join(record(f"k{i}.{j}") for j in range(100))) for i in range(30)]
    with pytest.raises(UnusableFile, match="global PAX records"):
        listed(b"".join(small) + ONE)
    with pytest.raises(UnusableFile, match="global PAX records"):
        listed(b"".join(each + header(f"{i}.c") for i, each in enumerate(small)) + ONE)


def test_long_names_within_the_limit_are_names() -> None:
    name = "d/" * 1500 + "a.c"
    assert listed(extended(tarfile.GNUTYPE_LONGNAME, name.encode() + b"\0") + ONE) == [name]
    assert listed(extended(tarfile.XHDTYPE, record("path", name)) + ONE) == [name]


def test_what_is_no_regular_file_is_passed_over() -> None:
    kinds = (
        tarfile.LNKTYPE,
        tarfile.SYMTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
    )
    assert listed(b"".join(header("x", kind) for kind in kinds) + ONE) == ["a.c"]


def test_paths_are_names_only() -> None:
    names = ["/etc/passwd", "../../../etc/shadow", "/build/../../x.c", "a.c"]
    assert listed(b"".join(map(header, names)) + bytes(1024)) == names


@pytest.mark.parametrize(
    "records",
    [
        record("GNU.sparse.map", "0,1,1000000,1"),
        record("GNU.sparse.size", "9")
        + record("GNU.sparse.offset", "0")
        + record("GNU.sparse.numbytes", "1"),
        record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0"),
    ],
)
def test_sparse_files_are_refused(records: bytes) -> None:
    with pytest.raises(UnusableFile, match="sparse"):
        listed(
            extended(tarfile.XHDTYPE, records) + header("a.c", size=512) + whole(b"1\n0\n1\n") + bytes(1024)
        )
    with pytest.raises(UnusableFile, match="sparse"):
        listed(header("a.c", tarfile.GNUTYPE_SPARSE, 512) + bytes(2048))


@pytest.mark.parametrize("size", ["-512", "-1024", "99999"])
def test_sizes_that_lead_out_of_the_archive_are_refused(size: str) -> None:
    content = header("b.c") + extended(tarfile.XHDTYPE, record("size", size)) + ONE
    with pytest.raises(UnusableFile):
        listed(content)


def test_limits_of_members_and_of_one_file() -> None:
    with pytest.raises(UnusableFile, match="more than 1,000 files"):
        listed(b"".join(header(f"{i}.c") for i in range(1001)) + bytes(1024))
    with pytest.raises(UnusableFile, match="the limit of a source file is"):
        listed(header("a.c", size=(1 << 20) + 1))


def test_headers_about_headers_are_refused() -> None:
    with pytest.raises(UnusableFile, match="extended headers"):
        listed(header("more", tarfile.XHDTYPE) * 5000)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name in ("a.c", "é.c", "deep/" * 30 + "long.c"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (folder / "link.c").symlink_to("a.c")
    (folder / "hard.c").hardlink_to(folder / "a.c")
    return folder


@pytest.mark.parametrize("form", ["gnu", "posix", "ustar", "v7"])
def test_what_gnu_tar_packs_is_read(tree: Path, form: str) -> None:
    if shutil.which("tar") is None:
        pytest.skip("tar is not installed")
    if form in {"v7", "ustar"}:
        shutil.rmtree(tree / "deep")
    packed = tree.parent / "tar"
    subprocess.run(["tar", f"--format={form}", "-cf", packed, "-C", tree.parent, "tree"], check=True)
    with packed.open("rb") as archive:
        found = list(members(archive, LIMITS))
    content = packed.read_bytes()
    texts = {member.name.removeprefix("tree/"): content[member.offset :][: member.size] for member in found}
    # A hard link is a file by one of its names only.
    assert len(texts.keys() & {"a.c", "hard.c"}) == 1
    wanted = {"é.c"} | ({"deep/" * 30 + "long.c"} if form in {"gnu", "posix"} else set())
    assert wanted <= texts.keys()
    assert all(texts[name] == name.encode() for name in wanted)


def test_what_git_archives_is_read(tree: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def git(*arguments: str) -> bytes:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", *who, *arguments], cwd=tree, check=True, capture_output=True).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a tree")
    packed = git("archive", "--prefix=build/", "HEAD")
    assert b"pax_global_header" in packed
    assert sorted(listed(packed)) == sorted(
        f"build/{name}" for name in ("a.c", "hard.c", "é.c", "deep/" * 30 + "long.c")
    )


@settings(max_examples=200, deadline=None)
@given(
    damage=st.lists(st.tuples(st.integers(0, 2047), st.integers(0, 255)), max_size=12),
    cut=st.integers(1, 4096),
)
def test_a_damaged_archive_is_refused_or_listed_never_a_mistake(
    damage: list[tuple[int, int]], cut: int
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.c", "é" * 120 + ".c"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"text\n"))
    content = bytearray(buffer.getvalue())
    for at, byte in damage:
        content[at] = byte
    content = content[:cut]
    with suppress(UnusableFile):
        for found in members(io.BytesIO(content), LIMITS):
            assert 0 <= found.offset <= found.offset + found.size <= len(content)
