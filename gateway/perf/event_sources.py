"""Event sources ("PMUs") in /sys/bus/event_source/devices: folder in, events out.

A source has a number (`type`), the bit positions of its terms (`format/*`), named events (`events/*`, with `.scale`
and `.unit`), and, unless it belongs to each CPU, the CPUs to open it on (`cpumask`).
"""

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetpb import capture_pb2
from gateway.errors import BadEventName, BadFormat, EventUnavailable
from gateway.machine.topology import SYS, parse_cpu_list
from gateway.perf.event_names import SourceName, Term, parse_terms
from gateway.perf.events import COUNT, UNKNOWN_PERIOD, Event
from gateway.perf.sysfs_formats import WORDS, Field, parse_format, parse_id, parse_scale, parse_unit

# `format` files of a CPU's PMU have a few bytes; a longer file is not one.
_MAX_BYTES: Final = 4096


def sources_folder(sys: Path = SYS) -> Path:
    """The kernel's folder of event sources."""
    return sys / "bus/event_source/devices"


def has_source(source: str, sys: Path = SYS) -> bool:
    """Whether the kernel has an event source of that name."""
    return (sources_folder(sys) / source).is_dir()


def find_in_source(name: SourceName, called: str, sys: Path = SYS) -> Event:
    """The event, named `called`; raises EventUnavailable if this machine lacks it.

    `Event.source` has the form of `perf stat -e`: "cpu/event=0x3c,any=1/".
    """
    folder = sources_folder(sys) / name.source
    try:
        return _find(folder, name, called)
    except (OSError, BadFormat, BadEventName) as error:
        code = (error.errno if isinstance(error, OSError) else 0) or errno.ENOENT
        denied = code in {errno.EACCES, errno.EPERM}
        raise EventUnavailable(
            f"{called}: {_why(folder, error)}",
            support=capture_pb2.SUPPORT_DENIED if denied else capture_pb2.SUPPORT_UNSUPPORTED,
            errno=code,
        ) from error


def _why(folder: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        return f"this kernel has no event source {folder.name} here"
    return str(error)


def _find(folder: Path, name: SourceName, called: str) -> Event:
    number = parse_id(_read(folder / "type"))
    encoded = _EncodedTerms({}, dict.fromkeys(WORDS, 0))
    unit, scale = COUNT, 1.0
    for term in name.terms:
        if term.value is None and not (folder / "format" / term.name).is_file():
            unit, scale = _expand(folder, term.name, encoded)
        else:
            encoded.put(folder, term)
    return Event(
        called,
        f"{name.source}/{','.join(_resolve_term(term) for term in name.terms)}/",
        number,
        encoded.words["config"],
        unit,
        config1=encoded.words["config1"],
        config2=encoded.words["config2"],
        default_period=UNKNOWN_PERIOD,
        cpus=_cpus(folder),
        scale=scale,
    )


@dataclass(slots=True)
class _EncodedTerms:
    """Terms encoded so far; a later term overrides an earlier one of the same name."""

    fields: dict[str, Field]
    words: dict[str, int]

    def put(self, folder: Path, term: Term) -> None:
        field = self.fields.get(term.name)
        if field is None:
            field = self.fields[term.name] = parse_format(_read(folder / "format" / term.name))
        word = self.words[field.word] & ~field.mask
        self.words[field.word] = word | field.place(1 if term.value is None else term.value)


def _expand(folder: Path, event: str, encoded: _EncodedTerms) -> tuple[str, float]:
    """Add the terms of `events/EVENT`; returns its unit and the value of one count in it."""
    path = folder / "events" / event
    try:
        terms = parse_terms(_read(path).strip())
    except FileNotFoundError:
        raise BadEventName(
            f"the event source {folder.name} has neither a term nor an event {event} here"
        ) from None
    for term in terms:
        encoded.put(folder, term)
    unit, factor, scale = COUNT, 1.0, 1.0
    if (path.parent / f"{event}.unit").exists():
        unit, factor = parse_unit(_read(path.parent / f"{event}.unit"))
    if (path.parent / f"{event}.scale").exists():
        scale = parse_scale(_read(path.parent / f"{event}.scale"))
    return unit, scale * factor


def _cpus(folder: Path) -> tuple[int, ...] | None:
    """CPUs in `cpumask`. A CPU's PMU has no such file; a hybrid one's `cpus` names the cores of its kind."""
    try:
        listed = parse_cpu_list(_read(folder / "cpumask"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BadFormat(f"{folder.name}/cpumask is not a list of CPUs") from error
    if not listed:
        raise BadFormat(f"{folder.name}/cpumask names no CPU")
    return tuple(listed)


def _resolve_term(term: Term) -> str:
    return term.name if term.value is None else f"{term.name}={term.value:#x}"


def _read(path: Path) -> str:
    with path.open(errors="replace") as file:
        text = file.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise BadFormat(f"{path.name} has more than {_MAX_BYTES} characters")
    return text
