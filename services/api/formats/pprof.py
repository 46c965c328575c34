"""Stacks as a pprof profile: a gzipped protobuf that `go tool pprof` and compatible tools open.

Stacks consist of functions and not of addresses, so a location is a function and has no address. Ids of locations and
functions are indices into the table's functions. Index 0, which pprof forbids as an id, is the root. Field numbers are
those of the public profile.proto.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from services.api.encoded_response import GZIP_WINDOW
from services.api.formats import wire
from services.api.formats.stack_profile import LEFT_OUT, StackProfile, Values, display_name
from services.api.formats.wire import message, number, varint
from storage.arrays import Bool, Int64, ranges
from storage.query.shapes.stack_table import StackTable

MEDIA_TYPE = "application/x-pprof"
_FRAMES_AT_ONCE = 500_000
"""Frames of the stacks that are written together: some 100 MB of arrays."""
_TEXTS_AT_ONCE = 20_000
"""Texts joined before compression: one call per text takes as long as compressing it."""
_LEVEL = 1


def packed(profile: StackProfile) -> Iterator[bytes]:
    """The file, gzipped, part by part."""
    pack = zlib.compressobj(_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    for part in plain(profile):
        yield pack.compress(part)
    yield pack.flush()


def plain(profile: StackProfile) -> Iterator[bytes]:
    """The message, part by part."""
    texts = _Texts()
    for values in profile.values:
        yield message(1, number(1, texts[values.name]) + number(2, texts[values.unit]))
    labels = [_labels(texts, profile.table.labels, group) for group in profile.table.groups]
    yield from _samples(profile.table, profile.values, labels)
    if profile.table.remainder.stacks:
        ids = varint(len(profile.table.functions))
        numbers = b"".join(varint(values.left_out) for values in profile.values)
        yield message(2, message(1, ids) + message(2, numbers))
    yield from _functions(profile, texts)
    about = _about(profile, texts)
    yield from texts.fields()  # once all texts are known
    yield about


def _about(profile: StackProfile, texts: "_Texts") -> bytes:
    kind = message(11, number(1, texts[profile.event]) + number(2, texts[profile.unit]))
    comments = b"".join(varint(13 << 3) + varint(texts[comment]) for comment in profile.comments)
    times = number(9, profile.start_ns) + number(10, profile.duration_ns)
    return times + kind + number(12, profile.period) + comments + number(14, texts[profile.values[-1].name])


class _Texts:
    """The string table. A text's number is its index; the empty text has 0."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def fields(self) -> Iterator[bytes]:
        texts = iter(self._numbers)
        while some := list(islice(texts, _TEXTS_AT_ONCE)):
            yield b"".join(message(6, text.encode("utf-8", "replace")) for text in some)


def _labels(texts: _Texts, names: Sequence[str], values: Sequence[str]) -> bytes:
    return b"".join(
        message(3, number(1, texts[name]) + number(2, texts[value]))
        for name, value in zip(names, values, strict=True)
        if value
    )


def _functions(profile: StackProfile, texts: _Texts) -> Iterator[bytes]:
    """Mappings, locations and functions, in this order."""
    table = profile.table
    binaries = _binaries(table)
    number_of = {binary: place for place, binary in enumerate(binaries, 1)}
    for binary, id_ in number_of.items():
        build = number(6, texts[profile.build_ids.get(binary, "")])
        # Names are final: without these flags pprof looks for binaries and symbol servers.
        known = b"".join(number(field, 1) for field in (7, 8, 9, 10))
        yield message(3, number(1, id_) + number(5, texts[binary]) + build + known)
    count = len(table.functions)
    ids = np.arange(1, count)
    places = np.array([number_of.get(row.binary, 0) for row in table.functions[1:]], np.int64)
    columns = np.array(list(_function_texts(table, texts)), np.int64).reshape(-1, 3).T
    lines = np.array([definition.line for definition in table.definitions[1:]], np.int64)
    if table.remainder.stacks:
        left_out = texts[LEFT_OUT]
        ids, places, lines = np.append(ids, count), np.append(places, 0), np.append(lines, 0)
        columns = np.column_stack((columns, (left_out, 0, 0)))
    of_number, of_message = wire.tag_of_number, wire.tag_of_message
    inner = 1 + wire.varint_sizes(ids)
    yield wire.records(
        4, [(of_number(1), ids), (of_number(2), places), (of_message(4), inner), (of_number(1), ids)]
    )
    texts_of = [(of_number(field), column) for field, column in zip((2, 3, 4), columns, strict=True)]
    yield wire.records(5, [(of_number(1), ids), *texts_of, (of_number(5), lines)])


def _function_texts(table: StackTable, texts: _Texts) -> Iterator[tuple[int, int, int]]:
    """The string numbers of each function but the root: name, raw name, file."""
    for row, definition in zip(table.functions[1:], table.definitions[1:], strict=True):
        # If both names are equal, pprof treats f(int) and f(long) as C++ names, shortens them, and merges them into one
        # f.
        raw = "" if definition.raw_name == row.name else definition.raw_name
        yield texts[display_name(row)], texts[raw], texts[row.file]


def _binaries(table: StackTable) -> list[str]:
    """The functions' binaries, the one with the heaviest leaves first: pprof names the profile after it."""
    names: dict[str, float] = {}
    weight = np.bincount(
        table.function[table.leaf], weights=table.weight, minlength=len(table.functions)
    ).tolist()
    for row, heavy in zip(table.functions, weight, strict=True):
        if row.binary:
            names[row.binary] = names.get(row.binary, 0.0) + heavy
    return sorted(names, key=lambda name: (-names[name], name))


def _samples(table: StackTable, values: Sequence[Values], labels: Sequence[bytes]) -> Iterator[bytes]:
    depth = table.depth[table.leaf]
    before = np.cumsum(depth) - depth
    ids = _location_ids(table)
    start = 0
    while start < len(table):
        end = int(np.searchsorted(before, before[start] + _FRAMES_AT_ONCE))
        rows = slice(start, max(end, start + 1))
        some = list(islice(ids, rows.stop - start))
        yield _some_samples(table.group[rows], some, [v.of_row[rows] for v in values], labels)
        start = rows.stop


def _location_ids(table: StackTable) -> Iterator[bytes]:
    """The locations of each row's stack, innermost first, as varints.

    A stack is its innermost function followed by its caller's stack, so each node of the tree needs one concatenation.
    This takes a quarter of the time of gathering every frame of every stack by numpy (350,000 stacks of 21 frames in
    680,000 nodes).
    """
    id_ = [varint(place) for place in range(len(table.functions))]
    places = iter(table.leaf.tolist())
    wanted = next(places, -1)
    callers = [b""] * (int(table.depth.max(initial=0)) + 1)
    for node, (function, depth) in enumerate(zip(table.function.tolist(), table.depth.tolist(), strict=True)):
        if depth:
            callers[depth] = id_[function] + callers[depth - 1]
        while wanted == node:
            yield callers[depth]
            wanted = next(places, -1)


def _some_samples(
    group: Int64, ids: Sequence[bytes], values: Sequence[Int64], labels: Sequence[bytes]
) -> bytes:
    ids_size = np.fromiter(map(len, ids), np.int64, len(ids))
    value_sizes = [wire.varint_sizes(column) for column in values]
    values_size = sum(value_sizes, start=np.zeros(len(ids), np.int64))
    of_ids = np.where(ids_size > 0, 1 + wire.varint_sizes(ids_size) + ids_size, 0)
    label_bytes = np.frombuffer(b"".join(labels), np.uint8)
    label_ends = np.cumsum([len(label) for label in labels])
    label_starts = label_ends - [len(label) for label in labels]
    label_size = label_ends[group] - label_starts[group]
    body = of_ids + 1 + wire.varint_sizes(values_size) + values_size + label_size
    size = 1 + wire.varint_sizes(body) + body
    at = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)

    at = wire.opened(out, at, 2, body)
    there = ids_size > 0
    inner = wire.opened(out, at[there], 1, ids_size[there])
    out[_within(inner, inner + ids_size[there], len(out))] = np.frombuffer(b"".join(ids), np.uint8)
    at = wire.opened(out, at + of_ids, 2, values_size)
    for column, sizes in zip(values, value_sizes, strict=True):
        wire.put_varints(out, at, column, sizes)
        at = at + sizes
    if len(label_bytes):
        out[ranges(at, at + label_size)] = label_bytes[ranges(label_starts[group], label_ends[group])]
    return out.tobytes()


def _within(starts: Int64, ends: Int64, size: int) -> Bool:
    """Marks the places within the ranges [start, end). Ranges are not empty and ascend with gaps between them."""
    edges = np.zeros(size, np.int8)
    edges[starts] = 1
    edges[ends] = -1  # exists, because the values of a sample follow
    return np.cumsum(edges, dtype=np.int8).view(np.bool_)
