"""GIVEN a kernel's map on the shelf WHEN the next server takes it THEN every address lies where it lay."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.machine.kernel_map import KernelMap, Module
from gateway.machine.kernel_map_cache import KernelMapCache

BASE, MODULE, BPF = 0xFFFF_FFFF_8100_0000, 0xFFFF_FFFF_C000_0000, 0xFFFF_FFFF_A000_0000
MODULES = [Module("ext4", MODULE, 0x1000, b"\1" * 20), Module("xfs", MODULE + 0x2000, 0x800, b"")]


def kallsyms(*, bpf: str) -> list[bytes]:
    lines = [f"{BASE:x} T _stext", f"{BASE + 0x1000:x} T _etext"]
    lines += [f"{BASE + offset:x} t f{offset}" for offset in range(0x100, 0x1000, 0x80)]
    lines += [f"{MODULE + offset:x} t m{offset}\t[ext4]" for offset in range(0, 0x1000, 0x40)]
    lines.append(f"{BPF:x} t {bpf}\t[bpf]")
    return ["\n".join(lines).encode() + b"\n"]


def read(name: str = "bpf_prog_1") -> KernelMap:
    return KernelMap(kallsyms(bpf=name), MODULES)


@settings(deadline=None, max_examples=50)
@given(
    st.one_of(
        st.integers(BASE - 16, BASE + 0x1100),
        st.integers(MODULE - 16, MODULE + 0x3000),
        st.integers(BPF - 16, BPF + 0x200),
    ),
    st.booleans(),
)
def test_what_is_taken_finds_what_was_put(address: int, exact: bool) -> None:
    kernel_map_cache = KernelMapCache(1 << 16)
    kernel_map_cache.store(read(), MODULES)
    taken = kernel_map_cache.load(MODULES, read)
    assert taken is not None
    assert taken.text == read().text
    assert taken.modules() == read().modules()
    assert taken.find(address, exact=exact) == read().find(address, exact=exact)


def test_run_time_code_is_never_of_the_server_before() -> None:
    """BPF programs come and go while modules stay."""
    kernel_map_cache = KernelMapCache(1 << 16)
    kernel_map_cache.store(read("bpf_prog_old"), MODULES)
    asked: list[str] = []

    def again() -> KernelMap:
        asked.append("bpf_prog_new")
        return read("bpf_prog_new")

    taken = kernel_map_cache.load(MODULES, again)
    assert taken is not None
    assert taken.find(BASE + 0x200, exact=True).function_offset == 0x200
    assert not asked, "what lasts needs no reading"
    assert taken.find(BPF + 4, exact=True).name == "bpf_prog_new"
    assert taken.find(BPF + 8, exact=True).name == "bpf_prog_new"
    assert len(asked) == 1


def test_other_modules_want_another_map() -> None:
    kernel_map_cache = KernelMapCache(1 << 16)
    assert kernel_map_cache.load(MODULES) is None
    kernel_map_cache.store(read(), MODULES)
    assert kernel_map_cache.load(MODULES[:1]) is None
    moved = [Module("ext4", MODULE + 0x10, 0x1000, b"\1" * 20), MODULES[1]]
    assert kernel_map_cache.load(moved) is None


def test_what_hides_or_does_not_fit_is_not_kept() -> None:
    kernel_map_cache = KernelMapCache(256)
    kernel_map_cache.store(read(), MODULES)
    assert kernel_map_cache.load(MODULES) is None
    roomy = KernelMapCache(1 << 16)
    roomy.store(KernelMap((), ()), [])
    assert roomy.load([]) is None
