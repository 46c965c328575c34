"""Collapsed stacks: one line `outermost;…;innermost value` each, as flamegraph.pl, inferno and speedscope read them.

A semicolon in a name becomes a colon, as in stackcollapse-perf.pl; line ends and other control characters become
spaces. Kernel functions end in `_[k]`, by which flamegraph.pl chooses colours. Values of requested labels are the first
frames. Functions with equal names in different binaries give equal lines, which readers add up.
"""

import re
from collections.abc import Iterator
from itertools import islice

from services.api.formats.stack_profile import (
    LEFT_OUT,
    NO_FRAMES,
    StackProfile,
    Value,
    display_name,
    is_kernel,
    paths,
)

MEDIA_TYPE = "text/x-collapsed-stacks"
_CONTROLS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]+")
_LINES_AT_ONCE = 10_000
KERNEL = "_[k]"
"""Suffix of a kernel function's name."""


def lines(profile: StackProfile, value: Value) -> Iterator[bytes]:
    """The file in UTF-8, many lines at a time, in the order of the names; stacks of value 0 are omitted."""
    table, values = profile.table, profile.of(value)
    names = [frame(display_name(row)) + (KERNEL if is_kernel(row) else "") for row in table.functions]
    groups = [";".join(map(frame, group)) for group in profile.group_frames]
    heads = [f"{group};" if group else "" for group in groups]
    rows = zip(paths(table, names, ";"), table.group.tolist(), values.of_row.tolist(), strict=True)
    texts = (f"{heads[group]}{path or NO_FRAMES} {count}\n" for path, group, count in rows if count)
    while some := "".join(islice(texts, _LINES_AT_ONCE)):
        yield some.encode("utf-8", "replace")
    if values.left_out:
        yield f"{LEFT_OUT} {values.left_out}\n".encode()


def frame(name: str) -> str:
    """A name as a frame."""
    return _CONTROLS.sub(" ", name).replace(";", ":").strip() or NO_FRAMES
