import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status
from symbolizer.elf.file import ElfFile
from symbolizer.identity import ImageIdentity
from symbolizer.images.resolve import JIT, UNKNOWN, Resolver
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, parse_kallsyms
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.source import Found, Missing

KERNEL = b"\x0b" * 20
KALLSYMS = b"""\
ffffffff81000000 T _stext
ffffffff81000000 t startup
ffffffff81000100 T do_syscall_64
ffffffffc0200000 t nf_hook\t[nf_tables]
"""
Mapping = capture_pb2.Mapping


class OneKernel:
    """Local files, and one kernel that is not this machine's."""

    def __init__(self, debug_root: Path) -> None:
        self._files = LocalFiles(debug_roots=[debug_root])

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        return self._files.executable(identity)

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        return self._files.debug_file(identity, executable)

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        if kernel.build_id != KERNEL:
            return Missing("another kernel")
        return parse_kallsyms(KALLSYMS, {"nf_tables": 0xFFFFFFFFC0200000})

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        return Missing("no vdso here")


class Captured:
    """A capture in the making."""

    def __init__(self) -> None:
        self.message = capture_pb2.Capture(format=1, strings=[""], visit_id=bytes(16))
        self.message.machine.kernel_build_id = KERNEL.hex()
        self.message.groups.add()

    def text(self, text: str) -> int:
        self.message.strings.append(text)
        return len(self.message.strings) - 1

    def mapping(self, kind: int, path: str, build_id: bytes = b"", content_key: str = "") -> int:
        key = self.text(content_key) if content_key else 0
        self.message.mappings.add(kind=kind, path=self.text(path), build_id=build_id, content_key=key)
        return len(self.message.mappings) - 1

    def program(self, path: Path) -> int:
        content = path.read_bytes()
        build_id = ElfFile(content).build_id
        return self.mapping(
            Mapping.FILE,
            str(path),
            build_id,
            "" if build_id else f"sha256:{hashlib.sha256(content).hexdigest()}",
        )

    def frame(self, mapping: int, offset: int, *, exact: bool = True, into: int = 0) -> int:
        frames = self.message.frames
        frames.mapping.append(mapping)
        frames.offset.append(offset)
        frames.into_function.append(into)
        frames.flags.append(int(exact))
        return len(frames.mapping) - 1

    def named(self, frame: int, name: str) -> None:
        self.message.excerpts.add(group=0, frame=[frame], name=[self.text(name)])


@pytest.fixture
def resolver(tmp_path: Path) -> Resolver:
    return Resolver(OneKernel(tmp_path / "debug"), tmp_path / "cache")


def calls(resolved: ResolvedFrames, frame: int) -> list[tuple[str, int]]:
    entries = range(resolved.offsets[frame], resolved.offsets[frame + 1])
    return [(resolved.functions[resolved.function[i]].name, int(resolved.line[i])) for i in entries]


def function(resolved: ResolvedFrames, frame: int) -> FunctionName:
    return resolved.functions[resolved.function[resolved.offsets[frame]]]


def line_of(programs, text: str) -> int:
    lines = (programs.folder / "program.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def symbol(programs, path: Path, name: str) -> tuple[int, int]:
    """File offset and size of a function, by nm and readelf."""
    address, size = next(
        (int(fields[0], 16), int(fields[1], 16))
        for fields in map(str.split, programs.run("nm", "-S", str(path)).splitlines())
        if len(fields) == 4 and fields[3] == name
    )
    for line in programs.run("readelf", "-lW", str(path)).splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"]:
            offset, vaddr, filesz = int(fields[1], 16), int(fields[2], 16), int(fields[4], 16)
            if vaddr <= address < vaddr + filesz:
                return address - vaddr + offset, size
    raise AssertionError(name)


@pytest.mark.parametrize("source", ["python", "java"])
def test_source_level_frames_have_the_file_and_line_that_the_machine_stated(
    resolver: Resolver, source: str
) -> None:
    captured = Captured()
    frame = captured.frame(captured.mapping(Mapping.ANONYMOUS, f"[{source}]"), 0)
    captured.message.excerpts.add(
        group=0,
        frame=[frame],
        name=[captured.text("shop.Basket.total")],
        source=captured.text(source),
        file=[captured.text("Basket.java")],
        line=[17],
        first_line=[11],
    )
    resolved = resolver.resolve(captured.message)
    assert calls(resolved, frame) == [("shop.Basket.total", 17)]
    found = function(resolved, frame)
    assert (found.file, found.binary_name, found.start_line) == ("Basket.java", f"[{source}]", 11)


@pytest.mark.parametrize("variant", ["pie", "fixed", "by_lld"])
def test_inlined_calls_are_told_innermost_first(programs, resolver: Resolver, variant: str) -> None:
    path = getattr(programs, variant)
    captured = Captured()
    image = captured.program(path)
    start, size = symbol(programs, path, "work")
    frames = [captured.frame(image, start + at) for at in range(size)]
    resolved = resolver.resolve(captured.message)
    chains = {tuple(name for name, _ in calls(resolved, frame)) for frame in frames}
    assert ("work",) in chains
    assert ("square", "work") in chains
    assert ("square", "cube", "work") in chains
    assert {chain[-1] for chain in chains} == {"work"}
    deepest = next(c for frame in frames if len(c := calls(resolved, frame)) == 3)
    assert [line for _, line in deepest] == [
        line_of(programs, "return x * x"), line_of(programs, "square(x) * x"), line_of(programs, "cube(i)"),
    ]  # fmt: skip
    assert {function(resolved, frame).file for frame in frames} == {str(programs.folder / "program.c")}
    assert set(resolved.status[frames].tolist()) == {Status.FULL}


def test_copies_of_one_binary_keep_their_own_names(programs, resolver: Resolver) -> None:
    """A build-id says what a file holds, not what it is called: functions stand under the path that ran."""
    captured = Captured()
    start, _ = symbol(programs, programs.pie, "quiet")
    copies = [programs.folder / name for name in ("one", "other")]
    for copy in copies:
        shutil.copy(programs.pie, copy)
    frames = [captured.frame(captured.program(copy), start) for copy in copies]
    for resolved in (resolver.resolve(captured.message), resolver.resolve(captured.message)):
        found = [function(resolved, frame) for frame in frames]
        assert [(f.name, f.binary_name) for f in found] == [("quiet", "one"), ("quiet", "other")]


def test_a_function_is_defined_where_its_code_begins(programs, resolver: Resolver) -> None:
    captured = Captured()
    image = captured.program(programs.pie)
    names = ("work", "quiet", "give_up", "main")
    frames = [captured.frame(image, sum(symbol(programs, programs.pie, name)) - 1) for name in names]
    resolved = resolver.resolve(captured.message)
    source = (programs.folder / "program.c").read_text().splitlines()
    for frame, name in zip(frames, names, strict=True):
        found = resolved.functions[resolved.function[resolved.offsets[frame + 1] - 1]]
        assert (found.name, found.file) == (name, str(programs.folder / "program.c"))
        # The compiler may give the first instruction to the first statement instead of the opening line.
        assert any(f"{name}(" in line for line in source[found.start_line - 4 : found.start_line])


def test_a_return_address_belongs_to_the_call_before_it(programs, resolver: Resolver) -> None:
    """After a call that never returns, the next address may be in another function, or in none."""
    captured = Captured()
    image = captured.program(programs.pie)
    start, size = symbol(programs, programs.pie, "give_up")
    end = start + size
    returned = captured.frame(image, end, exact=False)
    at = captured.frame(image, end, exact=True)
    resolved = resolver.resolve(captured.message)
    assert calls(resolved, returned)[-1] == ("give_up", line_of(programs, "abort();"))
    assert all(name != "give_up" for name, _ in calls(resolved, at))


def test_a_function_without_a_name_is_one_row(programs, resolver: Resolver) -> None:
    bare = programs.stripped("bare")
    captured = Captured()
    image = captured.program(bare)
    start, size = symbol(programs, programs.pie, "quiet")
    exact = [captured.frame(image, start + at, into=at + 1) for at in range(size)]
    returns = [captured.frame(image, start + at + 1, into=at + 1, exact=False) for at in range(size)]
    alone = captured.frame(image, start + 3)
    resolved = resolver.resolve(captured.message)
    row = FunctionName(
        f"bare+{start:#x}", f"bare+{start:#x}", "", "bare", Status.BINARY_ONLY,
        binary_key=ElfFile(bare.read_bytes()).build_id.hex(), start=start,
    )  # fmt: skip
    assert {function(resolved, frame) for frame in exact + returns} == {row}
    assert function(resolved, alone).name == f"bare+{start + 3:#x}"
    assert set(resolved.status.tolist()) == {Status.BINARY_ONLY}
    [report] = resolved.binaries
    assert (report.key, report.status) == (row.binary_key, Status.BINARY_ONLY)
    assert "stripped" in report.reason


def test_symbols_without_debug_data_name_functions_only(programs, resolver: Resolver) -> None:
    programs.run("objcopy", "--strip-debug", str(programs.pie), "symbols")
    captured = Captured()
    image = captured.program(programs.folder / "symbols")
    start, _ = symbol(programs, programs.pie, "quiet")
    frame = captured.frame(image, start + 2)
    resolved = resolver.resolve(captured.message)
    assert calls(resolved, frame) == [("quiet", 0)]
    assert resolved.status.tolist() == [Status.SYMTAB]
    assert function(resolved, frame).binary_name == "symbols"


def test_debug_data_that_appears_later_is_used(programs, tmp_path: Path) -> None:
    """A process looks again after a while; a new one at once."""
    debug = tmp_path / "debug"
    captured = Captured()
    bare = programs.stripped("later")
    image = captured.program(bare)
    start, _ = symbol(programs, programs.pie, "quiet")
    captured.frame(image, start + 2)

    def status() -> int:
        return int(Resolver(OneKernel(debug), tmp_path / "cache").resolve(captured.message).status[0])

    assert status() == Status.BINARY_ONLY
    hex_id = ElfFile(bare.read_bytes()).build_id.hex()
    target = debug / ".build-id" / hex_id[:2] / f"{hex_id[2:]}.debug"
    target.parent.mkdir(parents=True)
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), str(target))
    assert status() == Status.FULL
    bare.unlink()  # an upgrade removed it while captures still wait
    target.unlink()
    assert status() == Status.FULL


def test_damaged_debug_data_leaves_the_symbols(programs, resolver: Resolver) -> None:
    (programs.folder / "noise").write_bytes(bytes(range(256)) * 64)
    programs.run("objcopy", "--update-section", ".debug_info=noise", str(programs.pie), "damaged")
    captured = Captured()
    image = captured.program(programs.folder / "damaged")
    start, _ = symbol(programs, programs.pie, "quiet")
    frame = captured.frame(image, start + 2)
    resolved = resolver.resolve(captured.message)
    assert calls(resolved, frame) == [("quiet", 0)]


def test_kernel_and_modules_count_from_their_own_start(resolver: Resolver) -> None:
    captured = Captured()
    kernel = captured.mapping(Mapping.KERNEL, "[kernel]", KERNEL)
    module = captured.mapping(Mapping.MODULE, "[nf_tables]", b"\x01" * 20)
    absent = captured.mapping(Mapping.MODULE, "[zfs]", b"\x02" * 20)
    other = captured.mapping(Mapping.KERNEL, "[kernel]", b"\x0c" * 20)
    for image in (kernel, module, absent, other):
        captured.frame(image, 0x110, exact=False)
    resolved = resolver.resolve(captured.message)
    assert [calls(resolved, frame)[0][0] for frame in range(4)] == [
        "do_syscall_64", "nf_hook", "[zfs]+0x10f", "[kernel]+0x10f",
    ]  # fmt: skip
    assert resolved.status.tolist() == [2, 2, 1, 1]
    assert function(resolved, 0).binary_name == "[kernel]"


def test_code_without_a_file_has_the_runtimes_names(resolver: Resolver) -> None:
    captured = Captured()
    jit = captured.mapping(Mapping.ANONYMOUS, "[anon]")
    unknown = captured.mapping(Mapping.UNKNOWN, "")
    named, nameless, nowhere = (captured.frame(image, 0) for image in (jit, jit, unknown))
    captured.named(named, "JS:~render /srv/page.js:10:3")
    resolved = resolver.resolve(captured.message)
    assert function(resolved, named) == FunctionName(
        "render", "render", "/srv/page.js", "/srv/page.js", Status.SYMTAB, start_line=10
    )
    assert function(resolved, nameless) == JIT
    assert function(resolved, nowhere) == UNKNOWN
    assert resolved.status.tolist() == [Status.SYMTAB, Status.UNKNOWN, Status.UNKNOWN]


def test_a_capture_without_frames_has_none(resolver: Resolver) -> None:
    resolved = resolver.resolve(Captured().message)
    assert resolved.offsets.tolist() == [0]
    assert resolved.functions == ()


frames = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.integers(0, 0x6000) | st.integers(0, 2**64 - 1),
        st.booleans(),
        st.integers(0, 2**32 - 1),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames)
def test_every_frame_is_something(
    programs, resolver: Resolver, found: list[tuple[int, int, bool, int]]
) -> None:
    captured = Captured()
    captured.program(programs.pie)
    captured.program(programs.stripped("bare"))
    captured.mapping(Mapping.KERNEL, "[kernel]", KERNEL)
    captured.mapping(Mapping.VDSO, "[vdso]", b"\x05" * 20)
    captured.mapping(Mapping.ANONYMOUS, "[anon]")
    captured.mapping(Mapping.FILE, "/gone/lib.so", b"\x06" * 20)
    captured.mapping(Mapping.KIND_UNSPECIFIED, "")
    for mapping, offset, exact, into in found:
        captured.frame(mapping, offset, exact=exact, into=into)
    resolved = resolver.resolve(captured.message)
    depth = np.diff(resolved.offsets)
    assert len(depth) == len(resolved.status) == len(found)
    assert (depth >= 1).all()
    assert len(resolved.function) == len(resolved.line) == resolved.offsets[-1]
    assert set(resolved.function.tolist()) == set(range(len(resolved.functions)))
    for frame, (mapping, *_) in enumerate(found):
        named = resolved.status[frame] >= Status.SYMTAB
        innermost = function(resolved, frame)
        assert named == (innermost.binary_key is None and innermost not in {JIT, UNKNOWN})
        assert (innermost.binary_key is None) == (innermost.start is None)
        assert named or mapping not in {4, 6} or innermost in {JIT, UNKNOWN}
    one_by_one = [calls(resolver.resolve(single(captured, frame)), 0) for frame in range(len(found))][:5]
    assert one_by_one == [calls(resolved, frame) for frame in range(len(one_by_one))]


def single(captured: Captured, frame: int) -> capture_pb2.Capture:
    message = capture_pb2.Capture()
    message.CopyFrom(captured.message)
    for column in ("mapping", "offset", "into_function", "flags"):
        values = getattr(message.frames, column)
        kept = values[frame]
        del values[:]
        values.append(kept)
    return message


def test_inlined_calls_whose_names_are_in_another_file_are_left_out(programs, resolver: Resolver) -> None:
    """`dwz -m` moves what two files share into a third, which is not read: the lines stay, names go."""
    for name in ("shared-a", "shared-b"):
        (programs.folder / name).write_bytes(programs.pie.read_bytes())
        (programs.folder / name).chmod(0o755)
    programs.run("dwz", "-m", "shared.debug", "shared-a", "shared-b")
    path = programs.folder / "shared-a"
    captured = Captured()
    image = captured.program(path)
    start, size = symbol(programs, path, "work")
    frames = [captured.frame(image, start + at) for at in range(size)]
    resolved = resolver.resolve(captured.message)
    named = {name for frame in frames for name, _ in calls(resolved, frame)}
    assert "" not in named
    assert {calls(resolved, frame)[-1][0] for frame in frames} == {"work"}
    lost = [frame for frame in frames if resolved.status[frame] == Status.SYMTAB]
    kept = [frame for frame in frames if resolved.status[frame] == Status.FULL]
    assert kept
    assert all(line > 0 for frame in lost + kept for _, line in calls(resolved, frame))


def test_frames_of_a_runtime_have_file_and_line(resolver: Resolver):
    captured = Captured()
    message = captured.message
    path = captured.text("[python]")
    message.mappings.add(kind=Mapping.ANONYMOUS, path=path)
    for _ in range(2):
        message.frames.mapping.append(0)
        message.frames.offset.append(0)
        message.frames.into_function.append(0)
        message.frames.flags.append(1)
    name, file = captured.text("Service.score"), captured.text("/srv/app.py")
    message.excerpts.add(
        frame=[0, 1], name=[name, name], source=captured.text("python"),
        file=[file, file], line=[12, 14], first_line=[10, 10],
    )  # fmt: skip
    resolved = resolver.resolve(message)
    assert calls(resolved, 0) == [("Service.score", 12)]
    assert calls(resolved, 1) == [("Service.score", 14)]
    assert function(resolved, 0) is function(resolved, 1), "one function, whatever its lines"
    assert function(resolved, 0) == FunctionName(
        "Service.score", "Service.score", "/srv/app.py", "[python]", Status.FULL, start_line=10
    )


def test_a_reader_that_knows_names_only_has_the_names(resolver: Resolver):
    """A capture whose excerpt states no files, as every one of an older gateway."""
    captured = Captured()
    message = captured.message
    message.mappings.add(kind=Mapping.ANONYMOUS, path=captured.text("[python]"))
    message.frames.mapping.append(0)
    message.frames.offset.append(0)
    message.frames.into_function.append(0)
    message.frames.flags.append(1)
    message.excerpts.add(frame=[0], name=[captured.text("f")], source=captured.text("python"))
    assert calls(resolver.resolve(message), 0) == [("f", 0)]
