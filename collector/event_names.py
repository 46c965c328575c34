"""Checks the syntax of event names before a gateway is called (gateway.proto, EventPlan.event).

The gateway decides: it parses the name and looks for the event on its machine. Both sides accept the same
syntax; a test finds the names for which they differ.
"""

import re
from typing import Final

LONGEST_NAME: Final = 200
_FILE: Final = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
_NUMBER: Final = "(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})"
_TERM: Final = f"{_FILE}(?:={_NUMBER})?"
_GENERIC: Final = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_FORMS: Final = {
    "tracepoint": (re.compile(f"{_FILE}:{_FILE}"), "tracepoint:sched:sched_switch"),
    "raw": (re.compile("0[xX][0-9a-fA-F]{1,16}"), "raw:0x1c2"),
    "pmu": (re.compile(f"{_FILE}:{_TERM}(?:,{_TERM})*"), "pmu:cpu:event=0x3c,umask=0 or pmu:msr:tsc"),
}
_DECIMAL: Final = re.compile("=([0-9]+)(?=,|$)")
# Generic events that take a rate in Hz: what they count advances at a known pace.
COUNTS_TIME: Final = frozenset(
    {
        "cpu",
        "cycles",
        "ref-cycles",
        "cycles-any",
        "cycles-distributed",
        "memory-stalls",
        "aperf",
        "mperf",
        "tsc",
    }
)


def why_not(name: str) -> str:
    """The problem with an event's name, as the end of a sentence; "" if it is valid."""
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters; the limit is {LONGEST_NAME}"
    kind, colon, rest = name.partition(":")
    if not colon:
        return "" if _GENERIC.fullmatch(name) else "is not an event name; those look like page-faults"
    if kind not in _FORMS:
        return "does not begin with tracepoint:, raw: or pmu:"
    form, example = _FORMS[kind]
    if not form.fullmatch(rest):
        return f"does not look like {example}"
    if any(int(value) >= 1 << 64 for value in _DECIMAL.findall(rest)):
        return "has a value of more than 64 bits"
    return ""
