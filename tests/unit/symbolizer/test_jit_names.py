"""Names of perf maps as runtimes write them: seen with Node 20, CPython 3.12 and 3.13, OpenJDK 17, .NET 8."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolizer.jit_names import JitName, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JS:~fib /app/fib.js:2:13", JitName("fib", "/app/fib.js", 2)),
        ("JS:^fib /app/fib.js:2:13", JitName("fib", "/app/fib.js", 2)),
        ("JS:+fib /app/fib.js:2:13", JitName("fib", "/app/fib.js", 2)),
        ("JS:*fib /app/fib.js:2:13", JitName("fib", "/app/fib.js", 2)),
        ("LazyCompile:*fib /app/fib.js:2:13", JitName("fib", "/app/fib.js", 2)),
        ("JS:~ /app/fib.js:3:116", JitName("(anonymous 3:116)", "/app/fib.js", 3)),
        ("Eval:~ /app/fib.js:1:1", JitName("(anonymous 1:1)", "/app/fib.js", 1)),
        ("JS:*get file:///srv/my%20app/a.mjs:7:5", JitName("get", "/srv/my app/a.mjs", 7)),
        (
            "JS:~setup node:internal/process/pre_execution:478:32",
            JitName("setup", "node:internal/process/pre_execution", 478),
        ),
        ("JS:*f evalmachine.<anonymous>:3:1", JitName("f", "evalmachine.<anonymous>", 3)),
        ("Builtin:LoadIC", JitName("Builtin:LoadIC")),
        ("RegExp:[0-9]+", JitName("RegExp:[0-9]+")),
        ("JS:*wasm-function[3]", JitName("JS:*wasm-function[3]")),
        ("py::Shape.area:/app/shapes.py", JitName("Shape.area", "/app/shapes.py")),
        ("py::A.m.<locals>.<lambda>:<string>", JitName("A.m.<locals>.<lambda>", "<string>")),
        ("py:::/app/shapes.py", JitName("py:::/app/shapes.py")),
        ("py:: :/app/shapes.py", JitName("py:: :/app/shapes.py")),
        ("/0x00007f4038000400", JitName("/0x00007f4038000400")),
        ("py::f:/odd:path.py", JitName("f", "/odd:path.py")),
        ("int W.fib(int)", JitName("W.fib(int)")),
        ("java.lang.Object[] a.B.<init>(int, long[])", JitName("a.B.<init>(int, long[])")),
        (
            "int java.util.stream.IntPipeline$$Lambda$2/0x00007f40380419b0.applyAsInt(int, int)",
            JitName("java.util.stream.IntPipeline$$Lambda.applyAsInt(int, int)"),
        ),
        (
            "java.lang.Object java.lang.invoke.LambdaForm$MH/0x00007f4038000400.invoke(java.lang.Object)",
            JitName("java.lang.invoke.LambdaForm$MH.invoke(java.lang.Object)"),
        ),
        ("com.sun.proxy.$Proxy12::call", JitName("com.sun.proxy.$Proxy::call")),
        ("I2C/C2I adapters", JitName("I2C/C2I adapters")),
        ("java.lang.String::hashCode", JitName("java.lang.String::hashCode")),
        (
            "int32 [System.Private.CoreLib] System.String::Concat(string)[OptimizedTier1]",
            JitName("[System.Private.CoreLib] System.String::Concat(string)"),
        ),
        ("instance void [app] N.C`1[T]::M()[PreJIT]", JitName("[app] N.C`1[T]::M()")),
    ],
)
def test_a_name_is_read(text: str, expected: JitName) -> None:
    assert parse(text) == expected


def test_a_function_is_one_whatever_the_tier_and_the_run() -> None:
    tiers = {parse(f"JS:{mark}run /srv/a.js:9:1") for mark in ("", "~", "^", "+", "*")}
    assert len(tiers) == 1
    runs = {parse(f"void A$$Lambda$14/0x{at:016x}.run()") for at in (0x800C03000, 0x7F4038041)}
    assert len(runs) == 1


@given(st.text(max_size=200))
def test_any_text_is_a_name(text: str) -> None:
    read = parse(text)
    assert read.line >= 0
    assert len(read.name) + len(read.file) <= len(text) + len("(anonymous )")
    if not text.startswith(("py::", "JS:", "LazyCompile:", "Function:", "Eval:", "Script:")):
        assert not read.file


@given(st.text("ab~^+*:/ ().<>$[]0123456789x", max_size=300))
def test_no_text_takes_long(text: str) -> None:
    parse(text * 4)


@pytest.mark.parametrize(
    "text", ["a [b] c::" * 909 + "\n[Tier1]", "a [b] " * 50 + "\n[Tier1]", "a [b] " * 1364 + "[Tier1]"]
)
def test_what_no_gateway_sends_is_the_name_itself(text: str) -> None:
    """The first took 16 s: three parts of the pattern for .NET may each end anywhere."""
    assert parse(text) == JitName(text)
