"""Stacks as a pprof profile: a gzipped protobuf that `go tool pprof` and its kin open.

A stack is made of functions, not of addresses, so a location is a function and has no address. Ids of
locations and functions are indices into the table's functions; id 0, which pprof does not allow, is the
root's. The numbers of fields are those of the public profile.proto.
"""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from services.api.formats import wire
from services.api.formats.stack_profile import LEFT_OUT, StackProfile, Values, display_name
from services.api.formats.wire import message, number, varint
from services.api.replies import GZIP_WINDOW
from storage.query.arrays import Int64, ranges, sum_at
from storage.query.shapes.stack_table import StackTable

MEDIA_TYPE = "application/x-pprof"
_FRAMES_AT_ONCE = 500_000
"""Of the stacks that are written together: some 100 MB of arrays."""
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
    yield from texts.fields()  # when all are known
    yield about


def _about(profile: StackProfile, texts: "_Texts") -> bytes:
    kind = message(11, number(1, texts[profile.event]) + number(2, texts[profile.unit]))
    comments = b"".join(varint(13 << 3) + varint(texts[comment]) for comment in profile.comments)
    times = number(9, profile.start_ns) + number(10, profile.duration_ns)
    return times + kind + number(12, profile.period) + comments + number(14, texts[profile.values[-1].name])


class _Texts:
    """The table of texts; a text's number is its place in it, 0 that of the empty one."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def fields(self) -> Iterator[bytes]:
        for text in self._numbers:
            yield message(6, text.encode("utf-8", "replace"))


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
        # Names are as good as they get: without these flags pprof looks for binaries and symbol servers.
        known = b"".join(number(field, 1) for field in (7, 8, 9, 10))
        yield message(3, number(1, id_) + number(5, texts[binary]) + build + known)
    count = len(table.functions)
    left_out = [count] if table.remainder.stacks else []
    for id_ in (*range(1, count), *left_out):
        binary = table.functions[id_].binary if id_ < count else ""
        line = message(4, number(1, id_))
        yield message(4, number(1, id_) + number(2, number_of.get(binary, 0)) + line)
    for id_ in range(1, count):
        row, definition = table.functions[id_], table.definitions[id_]
        # Where both names are alike pprof takes f(int) and f(long) for C++ to be shortened, and makes them one f.
        raw = "" if definition.raw_name == row.name else definition.raw_name
        names = number(2, texts[display_name(row)]) + number(3, texts[raw]) + number(4, texts[row.file])
        yield message(5, number(1, id_) + names + number(5, definition.line))
    for id_ in left_out:
        yield message(5, number(1, id_) + number(2, texts[LEFT_OUT]))


def _binaries(table: StackTable) -> list[str]:
    """The binaries of the functions, that with the heaviest leaves first: pprof calls a profile by it."""
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
    start = 0
    while start < len(table):
        end = int(np.searchsorted(before, before[start] + _FRAMES_AT_ONCE))
        end = max(end, start + 1)
        yield _some_samples(table, slice(start, end), [v.of_row[start:end] for v in values], labels)
        start = end


def _some_samples(table: StackTable, rows: slice, values: Sequence[Int64], labels: Sequence[bytes]) -> bytes:
    depth = table.depth[table.leaf[rows]]
    ids = _innermost_first(table, table.leaf[rows], depth)
    sample = np.repeat(np.arange(len(depth)), depth)
    id_sizes = wire.varint_sizes(ids)
    ids_size = sum_at(sample, id_sizes, len(depth))
    value_sizes = [wire.varint_sizes(column) for column in values]
    values_size = sum(value_sizes, start=np.zeros(len(depth), np.int64))
    of_ids = np.where(depth > 0, 1 + wire.varint_sizes(ids_size) + ids_size, 0)
    label_bytes = np.frombuffer(b"".join(labels), np.uint8)
    label_ends = np.cumsum([len(label) for label in labels])
    label_starts = label_ends - [len(label) for label in labels]
    group = table.group[rows]
    label_size = label_ends[group] - label_starts[group]
    body = of_ids + 1 + wire.varint_sizes(values_size) + values_size + label_size
    size = 1 + wire.varint_sizes(body) + body
    at = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)

    at = _opened(out, at, 2, body)
    there = depth > 0
    inner = at.copy()
    inner[there] = _opened(out, at[there], 1, ids_size[there])
    within = np.cumsum(id_sizes) - id_sizes
    first = np.cumsum(ids_size) - ids_size
    wire.put_varints(out, inner[sample] + within - first[sample], ids, id_sizes)
    at = _opened(out, at + of_ids, 2, values_size)
    for column, sizes in zip(values, value_sizes, strict=True):
        wire.put_varints(out, at, column, sizes)
        at = at + sizes
    out[ranges(at, at + label_size)] = label_bytes[ranges(label_starts[group], label_ends[group])]
    return out.tobytes()


def _opened(out: wire.Bytes, at: Int64, field: int, size: Int64) -> Int64:
    """Write the tags and lengths of messages of these sizes; returned is where their bodies begin."""
    out[at] = field << 3 | 2
    sizes = wire.varint_sizes(size)
    wire.put_varints(out, at + 1, size, sizes)
    return at + 1 + sizes


def _innermost_first(table: StackTable, leaf: Int64, depth: Int64) -> Int64:
    """The functions of stacks that end in these nodes, one stack after the other."""
    ids = np.empty(int(depth.sum()), np.int64)
    at = np.cumsum(depth) - depth
    node = leaf
    for level in range(int(depth.max(initial=0))):
        deeper = depth > level
        at, depth, node = at[deeper], depth[deeper], node[deeper]
        ids[at + level] = table.function[node]
        node = table.parent[node]
    return ids
