import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolizer.demangle import MAX_MANGLED, demangle


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("main", "main"),
        ("_Z3fooi", "foo(int)"),
        ("_ZN3app4ViewC2ERKS0_", "app::View::View(app::View const&)"),
        ("memcpy@@GLIBC_2.14", "memcpy"),
        ("malloc@plt", "malloc@plt"),
        ("_Znwm@plt", "operator new(unsigned long)@plt"),
        ("_Zebra_stripes", "_Zebra_stripes"),
        ("_Read", "_Read"),
        ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
        (
            "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
            "<alloc::string::String as core::fmt::Debug>::fmt",
        ),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("_Z4workPKc.cold", "work(char const*) (.cold)"),
        # A closure's part of a path begins with "_" so that it is a C identifier.
        (
            "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            "std::rt::lang_start::{{closure}}",
        ),
        # What LLVM makes visible to other modules gets a number that changes with every build.
        (
            "_ZN4core3fmt5write17h0123456789abcdefE.llvm.4962768342188849233",
            "core::fmt::write",
        ),
        ("_Z4workPKc.llvm.123", "work(char const*)"),
        ("work.llvm.123", "work"),
        ("_Z4workPKc.llvm.123.cold", "work(char const*) (.cold)"),
        ("@leading", "@leading"),
        ("", ""),
    ],
)
def test_names_are_those_of_the_source(raw: str, plain: str) -> None:
    assert demangle(raw) == plain


def test_a_name_without_end_is_left_alone() -> None:
    raw = "_Z" + "3foo" * MAX_MANGLED
    assert demangle(raw) == raw


@given(st.text() | st.text(st.sampled_from("_ZNRE0123456789abcLS$.hI"), max_size=60).map("_Z".__add__))
def test_no_name_breaks_it(raw: str) -> None:
    assert isinstance(demangle(raw), str)
    assert bool(demangle(raw)) == bool(raw)
