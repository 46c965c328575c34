"""Machines from a file that an operator wrote or another system exported: CSV or JSON.

Strategy: text in, machines out, no I/O. All errors of the file are reported at once, each with its
line, so that a list of 5 000 machines is corrected in one go. A file with an error is rejected as a
whole. JSON is an array of objects, or objects one after the other; anything else is CSV with a header
line.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from collector.channel import checked_address
from collector.errors import BadAddress, BadInventory
from storage.inventory import NewMachine

MAX_TEXT = 64 << 20
_OWN = ("name", "address", "datacenter", "cluster")
RESERVED_LABELS = frozenset(
    {
        "machine",
        "platform",
        "kernel",
        "application",
        "version",
        "image",
        "build_id",
        "container",
        "job",
        "comm",
        "unit",
    }
)
"""Label names that have other sources (gateways, captures) and cannot be set by hand."""
_LONGEST = 253
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,62}")
_MOST_REPORTED = 20


def read_inventory(text: str) -> list[NewMachine]:
    """The machines of the file, in its order. Raises `BadInventory` with every error and its line."""
    if len(text) > MAX_TEXT:
        raise BadInventory(f"The file is larger than {MAX_TEXT >> 20} MiB.")
    machines: list[NewMachine] = []
    mistakes: list[str] = []
    first_line: dict[str, int] = {}
    records = _json_records(text) if text.lstrip()[:1] in {"[", "{"} else _csv_records(text)
    for line, record in records:
        try:
            machine = new_machine(record)
        except (BadInventory, BadAddress) as error:
            mistakes.append(f"line {line}: {error}")
            continue
        if first_line.setdefault(machine.name, line) != line:
            mistakes.append(f"line {line}: {machine.name!r} is on line {first_line[machine.name]} already.")
        machines.append(machine)
    if mistakes:
        more = len(mistakes) - _MOST_REPORTED
        listed = [*mistakes[:_MOST_REPORTED], *([f"and {more} more"] if more > 0 else [])]
        raise BadInventory("Nothing was imported:\n  " + "\n  ".join(listed))
    if not machines:
        raise BadInventory("The file contains no machine.")
    return machines


def new_machine(record: Mapping[str, Any]) -> NewMachine:
    """A machine from one record, validated. Raises `BadInventory`, `BadAddress`."""
    texts = {key: _text(record.get(key), key) for key in _OWN}
    if not texts["name"]:
        raise BadInventory("The machine has no name.")
    if not texts["name"].isprintable() or any(character.isspace() for character in texts["name"]):
        raise BadInventory(f"Invalid name {texts['name']!r}: it contains spaces or control characters.")
    if not texts["address"]:
        raise BadInventory(f"{texts['name']} has no address.")
    labels = record.get("labels") or {}
    if not isinstance(labels, Mapping):
        raise BadInventory('"labels" is not an object of names and values.')
    unknown = sorted(set(record) - {*_OWN, "labels"})
    if unknown:
        raise BadInventory(f"Unknown field {unknown[0]!r}: put it into labels.")
    return NewMachine(
        name=texts["name"],
        address=checked_address(texts["address"]),
        datacenter=texts["datacenter"],
        cluster=texts["cluster"],
        labels={
            name: _text(value, name) for name, value in labels.items() if _checked_label(name) and value != ""
        },
    )


def _checked_label(name: str) -> str:
    if name in RESERVED_LABELS or name in _OWN:
        raise BadInventory(f"Invalid label {name!r}: fleetprof determines it, or has a field for it.")
    if not _LABEL.fullmatch(name):
        raise BadInventory(f"Invalid label {name[:_LONGEST]!r}: use letters, digits, '_', '.', '-' and '/'.")
    return name


def _text(value: object, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:
        raise BadInventory(f"{what} is not a string.")
    if len(value) > _LONGEST:
        raise BadInventory(f"{what} is longer than {_LONGEST} characters.")
    return value.strip()


def _csv_records(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Other columns become labels; an empty cell sets no label."""
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        if missing := [column for column in ("name", "address") if column not in header]:
            raise BadInventory(
                f"line 1: the header has no column {missing[0]!r}. Expected: name,address,datacenter,cluster"
            )
        if len(set(header)) != len(header):
            raise BadInventory("line 1: the header has a column twice.")
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise BadInventory(
                    f"line {reader.line_num}: {len(row)} cells under a header of {len(header)}."
                )
            cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
            labels = {name: value for name, value in cells.items() if name not in _OWN and value}
            yield reader.line_num, {**{name: cells.get(name) for name in _OWN}, "labels": labels}
    except csv.Error as error:
        raise BadInventory(f"line {reader.line_num}: {error}.") from error


def _json_records(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Objects one by one, each with the line it begins on."""
    decoder = json.JSONDecoder()
    skip = re.compile(r"[\s,]*")
    at = skip.match(text).end()  # type: ignore[union-attr]  # it matches the empty text too
    in_array = text[at] == "["
    at += in_array
    while True:
        at = skip.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text) or (in_array and text[at] == "]"):
            break
        line = text.count("\n", 0, at) + 1
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise BadInventory(f"line {error.lineno}: invalid JSON ({error.msg}).") from error
        if not isinstance(record, dict):
            raise BadInventory(f"line {line}: a machine is an object with name and address.")
        yield line, record
    if in_array and text[at:].strip() != "]":
        raise BadInventory("The array is not closed by ']', or more follows it.")
