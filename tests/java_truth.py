"""What JavaTruth.java's stacks can be: who calls whom, how deep it recurses, where its threads begin."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from gateway.runtimes.hotspot.frames import FrameKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.runtimes.hotspot.frames import JavaFrame

LOOPS: Final = frozenset(
    {
        "compiledLoop", "recursionLoop", "copyLoop", "allocLoop", "nativeLoop", "lambdaLoop", "sortLoop",
        "interpretedLoop", "lockedLoop",
    }
)  # fmt: skip
CALLERS: Final = {
    "circleLeaf": {"Circle.area"},
    "squareLeaf": {"Square.area"},
    "Circle.area": {"compiledLoop"},
    "Square.area": {"compiledLoop"},
    "inlineTop": {"compiledLoop"},
    "inlineMid": {"inlineTop"},
    "inlineLeaf": {"inlineMid"},
    "deep": {"deep", "recursionLoop"},
    "deepLeaf": {"deep"},
    "interpretedOuter": {"interpretedLoop"},
    "interpretedInner": {"interpretedOuter"},
    "interpretedLeaf": {"interpretedInner"},
}
DEPTH: Final = 61
_BOTTOMS: Final = frozenset({"java.lang.Thread.run", "main"})
_OWN: Final = re.compile(r"^JavaTruth[.$]")
_RUN: Final = re.compile(r"\d+\.run")


def errors(frames: Sequence[JavaFrame], *, complete: bool) -> list[str]:
    """Everything in a stack, leaf first, that the program cannot do.

    What is inlined at the interrupted instruction is known only at the nearest call or safepoint, so the inlined
    frames of the leaf are left out.
    """
    java = [frame for frame in frames if frame.kind != FrameKind.STUB]
    while java and java[0].kind == FrameKind.INLINED:
        del java[0]
    names = [_OWN.sub("", frame.function) for frame in java]
    found = []
    for callee, caller in itertools.pairwise(names):
        allowed = CALLERS.get(callee)
        if allowed is not None and caller not in allowed:
            found.append(f"{callee} was called by {caller}")
        if callee in LOOPS and not _RUN.fullmatch(caller):
            found.append(f"{callee} was called by {caller}")
        if caller in CALLERS and callee in LOOPS:
            found.append(f"{caller} called {callee}")
    if not complete or not any(_OWN.match(frame.function) for frame in java):
        return found
    if "deepLeaf" in names and names.count("deep") != DEPTH:
        found.append(f"deepLeaf at a depth of {names.count('deep')}")
    if names[-1] not in _BOTTOMS:
        found.append(f"the thread began in {names[-1]}")
    elif names[-1] != "main" and sum(name in LOOPS for name in names) > 1:
        found.append("two loops in one thread")
    return found
