"""Call graphs in Graphviz's language, read by a parser of our own that knows its lexical rules."""

import html
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.api.profiles.graphviz import dot, quoted
from storage.query.answers.call_graph import CallGraphAnswer, GraphEdge, GraphNode, HiddenCalls
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from tests.flame_trees import SELECTION, TOTALS

SAMPLES = SampleType("cpu", "nanoseconds", 1)
TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->)|([A-Za-z0-9_.]+)|([\[\]{};,=]))', re.DOTALL)
NOTHING = HiddenCalls(0, 0.0, 0.0, 0, 0.0)


def node(name: str, share: float = 0.5) -> GraphNode:
    return GraphNode(
        id=7,
        name=name,
        file="a.c",
        binary="prog",
        status="full",
        kind="user",
        self=1,
        total=2,
        self_share=share / 2,
        self_lo=None,
        self_hi=None,
        total_share=share,
        total_lo=None,
        total_hi=None,
        low_confidence=False,
        visits=1,
        machines=1,
        b_self_share=None,
        b_total_share=None,
        delta=None,
    )


def graph_of(
    nodes: Sequence[GraphNode],
    calls: Sequence[tuple[int, int]] = (),
    left_out: HiddenCalls = NOTHING,
    *,
    residual: bool = False,
) -> CallGraphAnswer:
    edges = tuple(
        GraphEdge(
            caller=caller,
            callee=callee,
            caller_function=nodes[caller].name,
            callee_function=nodes[callee].name,
            units=1,
            share=0.25,
            lo=None,
            hi=None,
            residual=residual,
            b_share=None,
            delta=None,
        )
        for caller, callee in calls
    )
    return CallGraphAnswer(
        selection_echo(SELECTION, SAMPLES), TOTALS, tuple(nodes), edges, left_out, None, None
    )


def shown(string: str) -> str:
    """What Graphviz shows for a quoted string of a label: escapes undone, then entities."""
    text = re.sub(
        r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], string[1:-1], flags=re.DOTALL
    )
    return html.unescape(text)


def statements(text: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, dict[str, str]]]]:
    """Nodes with their attributes, and edges."""
    tokens: list[str] = []
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        assert found, f"no token: {text[at : at + 40]!r}"
        tokens.append(found[0].strip())
        at = found.end()
    assert tokens[:3] == ["digraph", "fleetprof", "{"]
    assert tokens[-1] == "}"
    nodes: dict[str, dict[str, str]] = {}
    edges = []
    body = tokens[3:-1]
    while body:
        end = body.index(";")
        one, body = body[:end], body[end + 1 :]
        opening = one.index("[")
        assert one[-1] == "]"
        inside = [token for token in one[opening + 1 : -1] if token not in {",", "="}]
        attributes = dict(zip(inside[::2], inside[1::2], strict=True))
        match one[:opening]:
            case [name]:
                nodes[name] = attributes
            case [caller, "->", callee]:
                edges.append((caller, callee, attributes))
            case other:
                pytest.fail(f"no statement: {other}")
    return nodes, edges


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_names_are_shown_and_never_obeyed(names: list[str]):
    graph = graph_of([node(name) for name in names], [(0, len(names) - 1)], residual=True)
    text = dot(graph)
    assert all(character == "\n" or ord(character) >= 0x20 for character in text)
    text.encode("utf-8")
    nodes, edges = statements(text)
    assert set(nodes) == {"graph", "node", "edge", *(f"n{i}" for i in range(len(names)))}
    assert len(edges) == 1
    assert edges[0][2]["style"] == '"dotted"'
    for number in range(len(names)):
        assert set(nodes[f"n{number}"]) == {"id", "label", "tooltip", "fontsize", "fillcolor"}


@pytest.mark.parametrize(
    "name",
    [
        'a"];n9[label="injected',
        "back\\slash\\",
        "\\N\\G\\l",
        "operator<<(std::ostream&, char const*)",
        "&lt;b&gt;&amp;",
        "<b>html</b>",
        "Größe✓",
    ],
)
def test_odd_names_are_shown_as_they_are(name: str):
    nodes, _ = statements(dot(graph_of([node(name)])))
    assert shown(nodes["n0"]["label"]).split("\n")[0] == name
    assert shown(nodes["n0"]["tooltip"]).startswith(name)


@given(st.text())
def test_a_quoted_string_is_one_string(text: str):
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', quoted(text), re.DOTALL)
    assert quoted("\ud800\x00\x7f") == '"' + "�" * 3 + '"'


def test_the_graph_says_what_it_does_not_show():
    left_out = HiddenCalls(12, 0.03, 0.02, 5, 0.01)
    nodes, _ = statements(dot(graph_of([node("f")], left_out=left_out)))
    assert "12 functions with 3.00% of self, none above 2.00% in total; 5 calls" in shown(
        nodes["graph"]["label"]
    )
