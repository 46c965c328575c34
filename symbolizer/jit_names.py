"""Parses names of perf maps: the function, its file and its first line.

A function must be one row however often it is compiled, in every process and run. So its name leaves out the
parts that belong to one compilation: V8's and .NET's tier marks, addresses, and the JVM's numbers of hidden
classes. Tiers are not distinguished: a function that is optimized in the middle of a window must stay one
row. A text in no known form is used as the name.

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
"""Gateways cut names at 1000 bytes. On longer names, or several lines, some patterns would take seconds."""


class JitName(NamedTuple):
    """A function: `file` empty and `line` 0 if the text does not contain them."""

    name: str
    file: str = ""
    line: int = 0


def parse(text: str) -> JitName:
    """Parse a name as a runtime wrote it. Never fails: a text in no known form is the name itself."""
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
    # Nameless functions of a file are distinguished by their first line.
    at = place.removeprefix(found["file"]).removeprefix(":")
    return JitName(name or f"(anonymous {at})", file, line)
