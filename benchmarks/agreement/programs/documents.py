"""Create, write, read, search and sort documents: exercises the interpreter, json, re and zlib."""

import json
import re
import time
import zlib

DEADLINE = time.monotonic() + 900


class Document:
    """A document with attributes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.words = [f"word{number * k % 97}" for k in range(30)]

    def as_json(self) -> str:
        """The document as JSON."""
        return json.dumps({"number": self.number, "words": self.words, "share": self.number / 7})


def fib(n: int) -> int:
    """Fibonacci number, by recursion."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


while time.monotonic() < DEADLINE:
    documents = [Document(number) for number in range(300)]
    text = "\n".join(document.as_json() for document in documents)
    read = [json.loads(line) for line in text.splitlines()]
    read.sort(key=lambda document: (document["words"], -document["number"]))
    found = re.findall(r"word(\d+)", text)
    total = sum(int(number) ** 3 % 1009 for number in found) + fib(17)
    zlib.compress(text.encode(), 6)
