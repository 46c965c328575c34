r"""A call graph in Graphviz's language, safe for any function name.

https://graphviz.org/doc/info/lang.html defines the language. Names come from untrusted binaries and JITs. They appear
in quoted strings only, and never as attributes or HTML. Quotes, backslashes (`\N`, `\l` are Graphviz escapes) and
ampersands (entities) are escaped; control characters and lone surrogates are replaced.
"""

from collections.abc import Iterator
from math import sqrt

from storage.query.answers.call_graph import CallGraphAnswer, GraphNode

MEDIA_TYPE = "text/vnd.graphviz"
_LONGEST = 120
"""Characters of a label; tooltips show longer names."""
_LONGEST_TOOLTIP = 2_000


def dot(graph: CallGraphAnswer) -> str:
    """The graph: nodes are as large and as red as their share; a dotted edge skips functions that are left out."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: CallGraphAnswer) -> Iterator[str]:
    yield "digraph fleetprof {"
    yield '  graph [rankdir=TB, fontname="sans-serif", label=' + quoted(_left_out(graph)) + "];"
    yield '  node [shape=box, style=filled, fontname="sans-serif", color="#8a8a8a"];'
    yield '  edge [fontname="sans-serif", fontsize=9, color="#8a8a8a"];'
    for number, node in enumerate(graph.nodes):
        label = f"{_short(node.name)}\n{node.self_share:.2%} of {node.total_share:.2%}"
        where = " · ".join(text for text in (node.name, node.file, node.binary) if text)
        attributes = {
            "id": f"f{node.id}",
            "label": label,
            "tooltip": where[:_LONGEST_TOOLTIP],
            "fontsize": f"{8 + 24 * sqrt(node.self_share):.1f}",
            "fillcolor": _colour(node),
        }
        if node.kind == "marker":
            attributes["style"] = "filled,dashed"
        yield f"  n{number} [{_attributes(attributes)}];"
    for edge in graph.edges:
        attributes = {
            "label": f" {edge.share:.2%}",
            "tooltip": f"{edge.caller_function} → {edge.callee_function}"[:_LONGEST_TOOLTIP],
            "penwidth": f"{1 + 6 * edge.share:.2f}",
            "weight": str(1 + int(100 * edge.share)),
        }
        if edge.residual:
            attributes["style"] = "dotted"
        yield f"  n{edge.caller} -> n{edge.callee} [{_attributes(attributes)}];"
    yield "}"


def quoted(text: str) -> str:
    """A quoted string that Graphviz displays as this text; control characters except line breaks are replaced."""
    shown = "".join(_character(character) for character in text)
    return '"' + shown.replace("\n", "\\n") + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "&": "&amp;", "\n": "\n"}


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    unseen = code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
    return "\N{REPLACEMENT CHARACTER}" if unseen else character


def _attributes(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={quoted(value)}" for name, value in attributes.items())


def _short(name: str) -> str:
    one_line = " ".join(name.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[: _LONGEST - 1]}…"


def _colour(node: GraphNode) -> str:
    """From white to red by self share, as hue, saturation and value."""
    return f"0.02 {min(0.7, 1.4 * sqrt(node.self_share)):.3f} 1.000"


def _left_out(graph: CallGraphAnswer) -> str:
    out = graph.left_out
    if not out.nodes and not out.edges:
        return ""
    return (
        f"Not shown: {out.nodes:,} functions with {out.self_share:.2%} of self, none above {out.heaviest_node:.2%} in total; "
        f"{out.edges:,} calls among those shown, none above {out.heaviest_edge:.2%}."
    )
