"""A tree of calls of a given size, from a seed, and its files for each of the programs."""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from services.api.formats.flame_columns import encode_flame
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.facts.visit_scan import SampleType
from storage.query.shapes.flame_nodes import Flame
from storage.query.stacks.function_names import FunctionRow
from tests.flame_trees import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_WEIGHT: Final = 10**12
_PACKAGES: Final = 60
_FUNCTIONS: Final = 6000
_CALLEES: Final = (1, 2, 3, 5, 12)
"""How many callees a frame has."""
_PROBABILITIES: Final = (0.62, 0.2, 0.1, 0.05, 0.03)
_DEEPEST: Final = 120


@dataclass(frozen=True, slots=True)
class CallTree:
    """Nodes in depth-first preorder, callees by descending total; node 0 is the root, whose parent is −1."""

    names: list[str]
    total: list[int]
    self_: list[int]
    parent: list[int]
    function: list[int]
    """Index into `names`; of the root, 0."""

    def __len__(self) -> int:
        return len(self.total)

    def columns(self) -> bytes:
        """As our API answers it."""
        rows = tuple(
            FunctionRow(at, name, f"{name.split('.')[0]}.go", "server", Status.FULL, Kind.USER)
            for at, name in enumerate(self.names)
        )
        total, own = np.array(self.total), np.array(self.self_)
        flame = Flame(
            total=total, self=own, total_weight=total.astype(float), self_weight=own.astype(float),
            parent=np.array(self.parent, np.int32), function=np.array(self.function, np.int32), functions=rows,
            effective=(None,) * len(rows), pruned_nodes=0, pruned_share=0.0,
        )  # fmt: skip
        return encode_flame(tree_of(flame, SampleType("cpu", "nanoseconds", 1)))

    def nested(self) -> str:
        """As d3-flame-graph reads it: an object of each node, with its callees inside."""
        parts: list[str] = []
        for node, opens in self._walk():
            if not opens:
                parts.append("]}")
                continue
            if parts and parts[-1] == "]}":
                parts.append(",")
            name = json.dumps(self.names[self.function[node]])
            parts.append(f'{{"name":{name},"value":{self.total[node]},"children":[')
        return "".join(parts)

    def evented(self) -> str:
        """As speedscope reads it: when each frame opens and closes."""
        events: list[str] = []
        at = 0
        for node, opens in self._walk():
            frame = self.function[node]
            if not opens:
                at += self.self_[node]  # after the callees
            events.append(f'{{"type":"{"O" if opens else "C"}","frame":{frame},"at":{at}}}')
        profile = (
            '{"type":"evented","name":"cpu","unit":"nanoseconds","startValue":0,'
            f'"endValue":{self.total[0]},"events":[{",".join(events)}]}}'
        )
        frames = json.dumps([{"name": name} for name in self.names])
        schema = "https://www.speedscope.app/file-format-schema.json"
        return f'{{"$schema":"{schema}","shared":{{"frames":{frames}}},"profiles":[{profile}]}}'

    def _walk(self) -> Iterator[tuple[int, bool]]:
        """Each node when it begins (True) and when it ends."""
        stack: list[int] = []
        for node, caller in enumerate(self.parent):
            while stack and stack[-1] != caller:
                yield stack.pop(), False
            stack.append(node)
            yield node, True
        while stack:
            yield stack.pop(), False


def grow(nodes: int, seed: int = 1) -> CallTree:
    """A tree with about that many nodes: the heaviest frame gets callees until there are enough."""
    draw = random.Random(seed)
    packages = [f"acme.dev/service/internal/pkg{at}" for at in range(_PACKAGES)]
    names = ["all"] + [
        f"{draw.choice(packages)}.(*Type{draw.randrange(300)}).Method{at}" for at in range(1, _FUNCTIONS)
    ]
    total, self_, depth, function = [_WEIGHT], [_WEIGHT], [0], [0]
    callees: list[list[int]] = [[]]
    heap = [(-_WEIGHT, 0)]
    while heap and len(total) < nodes:
        _, node = heapq.heappop(heap)
        count = 30 if node == 0 else draw.choices(_CALLEES, _PROBABILITIES)[0]
        parts = [draw.random() ** 3 + 1e-3 for _ in range(count)]
        kept = draw.uniform(0.85, 1.0) if count > 1 else draw.uniform(0.97, 1.0)
        for part, callee in zip(parts, draw.sample(range(1, _FUNCTIONS), count), strict=True):
            weight = int(total[node] * kept * part / sum(parts))
            if weight == 0:
                continue
            callees[node].append(len(total))
            self_[node] -= weight
            if depth[node] < _DEEPEST:
                heapq.heappush(heap, (-weight, len(total)))
            total.append(weight)
            self_.append(weight)
            depth.append(depth[node] + 1)
            function.append(callee)
            callees.append([])
    order: list[int] = []
    position: dict[int, int] = {}
    parent: list[int] = []
    stack = [(0, -1)]
    while stack:
        node, caller = stack.pop()
        position[node] = len(order)
        order.append(node)
        parent.append(caller)
        lightest_first = sorted(callees[node], key=lambda callee: total[callee])
        stack.extend((callee, position[node]) for callee in lightest_first)
    return CallTree(
        names, [total[i] for i in order], [self_[i] for i in order], parent, [function[i] for i in order]
    )
