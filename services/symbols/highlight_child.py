"""Divides one source text into parts of a colour in a separate process, because texts may be hostile.

    python -m services.symbols.highlight_child DESCRIPTOR MEMORY_BYTES CPU_SECONDS LANGUAGE

Reads the UTF-8 text open as DESCRIPTOR and writes one JSON array to standard output: for each line the length and the
class of its parts in turn. Any status but 0 is a crash or an exceeded limit, which ends only this process.
"""

import json
import sys
from typing import Final

from symbolizer.limited_child import limit_this_process

CLASSES: Final = ("", "keyword", "type", "string", "number", "comment", "directive", "name")
"""Classes of parts; their positions are in the output. '': no colour."""

_BY_TOKEN: Final = {
    "Token.Keyword": "keyword",
    "Token.Keyword.Type": "type",
    "Token.Keyword.Constant": "number",
    "Token.Operator.Word": "keyword",
    "Token.Literal.String": "string",
    "Token.Literal.Number": "number",
    "Token.Comment": "comment",
    "Token.Comment.Preproc": "directive",
    "Token.Comment.PreprocFile": "string",
    "Token.Name.Builtin": "type",
    "Token.Name.Class": "type",
    "Token.Name.Namespace": "type",
    "Token.Name.Decorator": "directive",
    "Token.Name.Attribute": "directive",
    "Token.Name.Function": "name",
}


def main(arguments: list[str]) -> int:
    """Set the limits, then read the text."""
    descriptor, memory, seconds = (int(argument) for argument in arguments[:3])
    limit_this_process(memory, seconds, written=0)  # it writes to its pipe only
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        file.seek(0)
        text = file.read().decode()
    json.dump(_lines(text, arguments[3]), sys.stdout, separators=(",", ":"))
    return 0


def _lines(text: str, language: str) -> list[list[int]]:
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - within the limits

    lines: list[list[int]] = [[]]
    known: dict[str, int] = {}
    # Not get_tokens, which removes empty lines at both ends.
    for _, token, value in get_lexer_by_name(language).get_tokens_unprocessed(text.replace("\r\n", "\n")):
        kind = known.setdefault(str(token), _class_of(str(token)))
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            _append(lines[-1], len(part.encode("utf-16-le")) // 2, kind)
    return [_without_end(line) for line in lines]


def _class_of(token: str) -> int:
    while token:
        if token in _BY_TOKEN:
            return CLASSES.index(_BY_TOKEN[token])
        token = token.rpartition(".")[0]
    return 0


def _append(line: list[int], length: int, kind: int) -> None:
    if length and line and line[-1] == kind:
        line[-2] += length
    elif length:
        line += [length, kind]


def _without_end(line: list[int]) -> list[int]:
    """Without a last part that has no colour."""
    return line[:-2] if line and line[-1] == 0 else line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
