"""Stacks as a speedscope file: JSON with one profile of weighted samples."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from services.api.formats.stack_profile import LEFT_OUT, StackProfile, Value, display_name, paths

MEDIA_TYPE = "application/vnd.speedscope+json"
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = frozenset({"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"})
_AT_ONCE = 10_000


def parts(profile: StackProfile, value: Value) -> Iterator[bytes]:
    """The file, part by part. Values of requested labels are the first frames."""
    table, values = profile.table, profile.of(value)
    frames: list[dict[str, Any]] = [
        {"name": display_name(row)}
        | ({"file": row.file} if row.file else {})
        | ({"line": definition.line} if definition.line else {})
        for row, definition in zip(table.functions, table.definitions, strict=True)
    ]
    number: dict[str, int] = {}
    groups = []
    for group in profile.group_frames:
        above = [number.setdefault(text, len(frames) + len(number)) for text in group]
        groups.append("".join(f"{place}," for place in above))
    frames += [{"name": text} for text in number]
    left_out = len(frames)
    if values.left_out:
        frames.append({"name": LEFT_OUT})
    head = {"$schema": _SCHEMA, "exporter": "fleetprof", "name": profile.comments[0]}
    what = {
        "type": "sampled",
        "name": values.name,
        "unit": values.unit if values.unit in _UNITS else "none",
        "startValue": 0,
        "endValue": values.total,
    }
    shared = {"frames": frames}
    yield _bytes(f'{_json(head)[:-1]},"shared":{_json(shared)},"profiles":[{_json(what)[:-1]},"samples":[')
    texts = paths(table, [str(place) for place in range(len(table.functions))], ",")
    samples: Iterable[str] = (
        f"[{f'{groups[group]}{path}'.rstrip(',')}]"
        for path, group in zip(texts, table.group.tolist(), strict=True)
    )
    weights: Iterable[str] = map(str, values.of_row.tolist())
    if values.left_out:
        samples, weights = chain(samples, (f"[{left_out}]",)), chain(weights, (str(values.left_out),))
    yield from _joined(samples)
    yield b'],"weights":['
    yield from _joined(weights)
    yield b"]}]}"


def _joined(texts: Iterable[str]) -> Iterator[bytes]:
    rest, comma = iter(texts), ""
    while some := ",".join(islice(rest, _AT_ONCE)):
        yield _bytes(comma + some)
        comma = ","


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
