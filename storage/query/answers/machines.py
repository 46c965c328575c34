"""The answers of the inventory: all machines, and one with everything that is known about it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.visits import VisitOutcome, VisitRow

MachineState = Literal["disabled", "never_visited", "failing", "ok"]


@dataclass(frozen=True, slots=True)
class LastVisit(Answer):
    """The latest visit of a machine that ended, other than those that the collector lost."""

    visit_id: str
    campaign: str
    planned_at: str
    outcome: VisitOutcome
    detail: Annotated[str, Field(description="Reason of the outcome, a sentence; may be empty.")]


@dataclass(frozen=True, slots=True)
class MachineRow(Answer):
    """A machine of the inventory."""

    name: str
    datacenter: str
    cluster: str
    platform: Annotated[str, Field(description="CPU model. Empty until its gateway has described it.")]
    architecture: str
    kernel: str
    labels: Annotated[
        dict[str, str],
        Field(description="Labels of its gateway, and those of the inventory, which take precedence."),
    ]
    logical_cpus: int | None
    enabled: Annotated[bool, Field(description="False: no round draws it.")]
    state: Annotated[
        MachineState,
        Field(
            description="disabled; never_visited: no visit has ended; failing: its last visit failed; ok. The first that "
            "applies. Visits that the collector lost do not count."
        ),
    ]
    last_visit: LastVisit | None
    visits_last_day: Annotated[
        int, Field(description="Visits of the last 24 hours that ended, other than lost ones.")
    ]
    failures_last_day: Annotated[int, Field(description="Those of them that failed.")]
    answered_at: Annotated[
        str | None,
        Field(description="Time of its last answered visit, whose utilisation follows. Null: none."),
    ]
    utilisation: Annotated[Share | None, Field(description="Busy share of its CPUs in that visit.")]
    busy_cores: Annotated[
        float | None, Field(description="The same in logical CPUs: utilisation × logical_cpus.")
    ]


@dataclass(frozen=True, slots=True)
class MachineCounts(Answer):
    """Machines of the inventory that `find` matches, by state."""

    all: int
    ok: int
    failing: int
    never_visited: int
    disabled: int


@dataclass(frozen=True, slots=True)
class MachinesAnswer(Answer):
    """Machines of the inventory."""

    machines: tuple[MachineRow, ...]
    matching: Annotated[int, Field(description="Machines that `find` and `state` match, on all pages.")]
    counts: MachineCounts


@dataclass(frozen=True, slots=True)
class EventSupport(Answer):
    """An event, and whether the machine's gateway can sample it."""

    event: str
    use: Annotated[
        Literal["sampled", "counted", "none"],
        Field(description="counted: it can be counted, and not sampled."),
    ]
    source: Annotated[str, Field(description="The kernel's event behind it; may be empty.")]


@dataclass(frozen=True, slots=True)
class SystemFacts(Answer):
    """The hardware and the operating system, as the gateway described them. Null or empty: not known."""

    hostname: str
    os: str
    kernel_version: Annotated[str, Field(description="Version line of the kernel (uname -v).")]
    virtualization: Annotated[str, Field(description="The hypervisor; none: bare metal.")]
    microcode: str
    smt: Annotated[str, Field(description="on, off, forceoff or notsupported.")]
    packages: Annotated[int | None, Field(description="Sockets.")]
    cores: Annotated[int | None, Field(description="Physical cores.")]
    threads_per_core: int | None
    numa_nodes: int | None
    memory_bytes: int | None
    nominal_mhz: float | None
    hardware_min_mhz: float | None
    hardware_max_mhz: float | None


@dataclass(frozen=True, slots=True)
class SystemLoad(Answer):
    """The machine in its last ingested visit. Null: not recorded."""

    planned_at: str
    load_1: float | None
    load_5: float | None
    load_15: float | None
    tasks: int | None
    memory_available_bytes: int | None
    swap_used_bytes: int | None
    governor: str | None


@dataclass(frozen=True, slots=True)
class MachineFailure(Answer):
    """Failed visits of one machine with the same outcome and the same text."""

    outcome: VisitOutcome
    detail: Annotated[str, Field(description="A sentence; may be empty.")]
    visits: int
    latest: Annotated[str, Field(description="Time for which the latest of them was drawn.")]


@dataclass(frozen=True, slots=True)
class MachineAnswer(MachineRow):
    """One machine."""

    address: Annotated[str, Field(description="Address of its gateway.")]
    added_at: str
    described_at: Annotated[str | None, Field(description="Null: its gateway has not described it yet.")]
    system: SystemFacts
    load: SystemLoad | None
    events: tuple[EventSupport, ...]
    outcomes_last_day: Annotated[
        dict[str, int], Field(description="Visits by outcome.", examples=[{"answered": 5, "unreachable": 1}])
    ]
    outcomes_last_week: dict[str, int]
    failures: Annotated[
        tuple[MachineFailure, ...],
        Field(description="The failures of the last week, the most frequent first; at most 20."),
    ]
    visits: Annotated[tuple[VisitRow, ...], Field(description="Its latest 20 visits, the newest first.")]
