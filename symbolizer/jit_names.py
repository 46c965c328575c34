"""What a perf map's name says: the function, its file and the line it begins at.

A function must be one row however often it is compiled, in every process and run. So what belongs to one
compilation is left out of its name: V8's and .NET's marks of the tier, addresses, and the numbers that
the JVM counts its hidden classes with. Which tier ran is thereby not told apart: a function that is
optimized in the middle of a window must not fall in two. Where the text is no form known, it is the name.

    V8        JS:*fib /app/fib.js:2:13           fib, /app/fib.js, 2 (marks ~ ^ + * and older tags likewise)
    CPython   py::Shape.area:/app/shapes.py      Shape.area, /app/shapes.py
    JVM       int Shape.area(int)                Shape.area(int)
    .NET      void [app] Shape::Area()[Tier1]    [app] Shape::Area()
"""

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

# LogEventListener's tags of JavaScript code (V8, src/logger/code-events.h); Node ≤ 18 writes the longer ones.
_V8: Final = re.compile(r"(?:JS|LazyCompile|Function|Eval|Script):[~^+*]?(?P<name>\S*) (?P<place>.+)")
_V8_PLACE: Final = re.compile(r"(?P<file>.*?):(?P<line>\d+):\d+")
_CPYTHON: Final = re.compile(r"py::(?P<name>[^:]+):(?P<file>.+)")
# Method::external_name of HotSpot: return type, class and method, parameters.
_JVM: Final = re.compile(r"(?P<type>[\w.$\[\]]+) (?P<method>[\w.$/+<>-]+\([^()]*\))")
_DOTNET_TIER: Final = re.compile(
    r"\[(?:PreJIT|ReadyToRun|Unknown|MinOptJitted|Optimized|QuickJitted|OptimizedTier1|OptimizedTier1OSR|OptimizedTier1Instrumented|InstrumentedTier\w*|Tier\w*|Instrumented)\]$"
)
_DOTNET: Final = re.compile(r"(?P<type>\S.*?) (?P<method>\[[^\]]+\] \S.*::.+)")
# Numbers that differ from run to run: the address of a hidden class, the count of generated ones.
_UNSTABLE: Final = (
    (re.compile(r"\$\$Lambda(\$\d+)?(/0x[0-9a-f]+)?"), "$$Lambda"),
    (re.compile(r"/0x[0-9a-f]{8,}"), ""),
    (re.compile(r"\b(Generated(?:Serialization)?(?:Method|Constructor)Accessor)\d+"), r"\1"),
    (re.compile(r"(\$Proxy)\d+"), r"\1"),
)


_LONGEST: Final = 1024
"""Gateways cut names at 1000 bytes. Of a longer one, or of several lines, some patterns would take seconds."""


class JitName(NamedTuple):
    """A function: `file` empty and `line` 0 where the text does not tell them."""

    name: str
    file: str = ""
    line: int = 0


def parse(text: str) -> JitName:
    """Read a name as a runtime wrote it. Never fails: what is in no known form is the name itself."""
    if len(text) > _LONGEST or "\n" in text:
        return JitName(text)
    if (found := _CPYTHON.fullmatch(text)) and not found["name"].isspace():
        return JitName(found["name"], found["file"])
    if found := _V8.fullmatch(text):
        return _v8(found["name"], found["place"])
    if (tier := _DOTNET_TIER.search(text)) and (found := _DOTNET.fullmatch(text[: tier.start()])):
        return JitName(found["method"])
    if found := _JVM.fullmatch(text):
        text = found["method"]
    stable = text
    for pattern, replacement in _UNSTABLE:
        stable = pattern.sub(replacement, stable)
    return JitName(stable if stable.strip() else text)


def _v8(name: str, place: str) -> JitName:
    found = _V8_PLACE.fullmatch(place)
    if found is None:
        return JitName(name or f"(anonymous {place})", place)
    file, line = found["file"], int(found["line"])
    if file.startswith("file://"):
        file = unquote(file.removeprefix("file://"))
    # A file's functions without a name are told apart by where they begin.
    at = place.removeprefix(found["file"]).removeprefix(":")
    return JitName(name or f"(anonymous {at})", file, line)
