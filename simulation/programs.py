"""The program of one application: its runtime's skeleton with generated application code, or recorded stacks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from simulation.calls import CallGraph, Function, function_of
from simulation.catalogue import Application, Kind
from simulation.kernel_calls import add_entry, add_kernel, thread_graph
from simulation.recorded_stacks import RECORDINGS, stacks_of_program
from simulation.runtimes import ENTRY, RUNTIMES, Runtime
from simulation.seeded_random import generator
from simulation.servers import SERVERS

_NOUNS: Final = (
    "cart", "order", "price", "index", "query", "session", "token", "batch", "shard", "page", "route", "stock", "quote",
    "profile", "ranking", "feature", "vector", "cache", "event", "ledger", "payment", "image", "frame", "block", "tile",
    "message", "channel", "filter", "policy", "schema", "record", "stream", "catalog", "segment", "bucket", "offer",
)  # fmt: skip
_VERBS: Final = (
    "load", "store", "merge", "score", "parse", "encode", "decode", "validate", "apply", "resolve", "lookup", "expand",
    "build", "split", "sort", "hash", "compress", "update", "collect", "render", "normalize", "join", "scan", "publish",
)  # fmt: skip
_LAYERS: Final = 7
_WIDEST: Final = 20
"""Number of functions in each middle layer of a service."""


@dataclass(frozen=True, slots=True)
class Program:
    """A call graph, its threads' roots, and the functions that later change."""

    graph: CallGraph
    roots: Mapping[str, float]
    image: str
    """Base name of the interpreter; "" if the executable is the application's own."""
    own: frozenset[str] = frozenset()
    """Places of the application's own code."""
    rare: str = ""
    """Place that runs on few machines only."""
    introduced: str = ""
    """Place that only odd releases have."""
    recorded: Mapping[tuple[Function, ...], int] = field(default_factory=dict)
    """Samples by recorded stack, outermost first; the graph is then empty."""

    @property
    def functions(self) -> frozenset[Function]:
        """All functions of the program."""
        places = self.graph.places
        names = {*places, *(callee for place in places.values() for callee in place.callees)}
        return frozenset(map(function_of, names)).union(*self.recorded)


@lru_cache(maxsize=256)
def program_of(application: Application, seed: int) -> Program:
    """The program of an application of the catalogue; deterministic by seed."""
    if application.kind is Kind.KERNEL:
        return Program(
            thread_graph(application.program), MappingProxyType({"kernel:ret_from_fork_asm": 1.0}), ""
        )
    if application.program in RECORDINGS:
        return Program(CallGraph(), MappingProxyType({}), "", recorded=stacks_of_program(application.program))
    graph = CallGraph()
    add_kernel(graph)
    for call in ("read", "write", "epoll_wait", "futex"):
        add_entry(graph, call)
    if application.program in SERVERS:
        graph.read(SERVERS[application.program])
        return Program(graph, MappingProxyType({"_start": 1.0}), "")
    runtime = RUNTIMES[application.program]
    own = _own_code(application, runtime, seed)
    graph.read(runtime.skeleton)
    entries = {place: 1.0 / (rank + 1) for rank, place in enumerate(own.top)}
    for place in graph.places.values():
        if weight := place.callees.pop(ENTRY, 0.0):
            total = sum(entries.values())
            place.callees.update({entry: weight * share / total for entry, share in entries.items()})
    for name, code in own.graph.places.items():
        graph.add(name, code.own, code.callees.items())
    return Program(graph, runtime.roots, runtime.image, own.symbols, own.rare, own.introduced)


@dataclass(frozen=True, slots=True)
class _OwnCode:
    graph: CallGraph
    top: tuple[str, ...]
    symbols: frozenset[str]
    rare: str
    introduced: str


def _own_code(application: Application, runtime: Runtime, seed: int) -> _OwnCode:
    """Layers of functions: each calls some functions of the next layer, the runtime, and occasionally itself."""
    random = generator(seed, f"own code of {application.name}")
    widest = _WIDEST if application.kind is Kind.SERVICE else 5
    layers = _LAYERS if application.kind is Kind.SERVICE else 2
    names: dict[str, None] = {}
    while len(names) < layers * widest:
        noun, verb = _NOUNS[random.integers(len(_NOUNS))], _VERBS[random.integers(len(_VERBS))]
        names.setdefault(runtime.name(application.name, noun, verb))
    symbols = list(names)
    tiers = [symbols[i * widest : (i + 1) * widest] for i in range(layers)]
    tiers[0] = tiers[0][: max(2, widest // 4)]
    graph = CallGraph()
    leaves = list(runtime.leaves.items())
    for depth, tier in enumerate(tiers):
        below = tiers[depth + 1] if depth + 1 < layers else []
        for symbol in tier:
            weights: dict[str, float] = {}
            for other in random.choice(below, min(len(below), 4), replace=False) if below else ():
                weights[str(other)] = float(random.pareto(1.2) + 0.3) * 3.0
            if random.random() < 0.15:
                weights[symbol] = 1.5
            for leaf in random.choice(len(leaves), min(len(leaves), 3), replace=False):
                name, weight = leaves[leaf]
                weights[name] = weights.get(name, 0.0) + weight * float(
                    random.exponential(0.2 + 0.25 * depth)
                )
            own = float(random.exponential(0.2 + 0.5 * depth))
            _call(graph, runtime, symbol, own=own, callees=weights, code=set(symbols))
    rare, introduced = "", ""
    if application.kind is Kind.SERVICE:
        rare = runtime.name(application.name, "lease", "recover")
        introduced = runtime.name(application.name, "audit", "verify")
        for place in (rare, introduced):
            _call(graph, runtime, place, own=3.0, callees=dict(leaves[:2]), code=set(symbols))
            for caller in tiers[1][:3]:
                _call(graph, runtime, caller, own=0.0, callees={place: 3.0}, code={*symbols, place})
    return _OwnCode(graph, tuple(tiers[0]), frozenset(symbols), rare, introduced)


def _call(
    graph: CallGraph,
    runtime: Runtime,
    caller: str,
    *,
    own: float,
    callees: Mapping[str, float],
    code: set[str],
) -> None:
    """Add calls; calls of the program's own functions pass through the interpreter's frames, if any."""
    graph.add(caller, own)
    if not runtime.spacers:
        graph.add(caller, 0.0, callees.items())
        return
    # The interpreter runs the function's body and calls its callees from there.
    spacer, step = (f"{place}#{caller}" for place in runtime.spacers)
    graph.add(caller, 0.0, [(spacer, 12.0)] if spacer not in graph.places else [])
    graph.add(spacer, own + 2.0 if own else 0.0)
    for callee, weight in callees.items():
        if callee in code:
            graph.add(spacer, 0.0, [(step, weight)])
            graph.add(step, 0.3, [(callee, weight * 6.0)])
        else:
            graph.add(spacer, 0.0, [(callee, weight)])
