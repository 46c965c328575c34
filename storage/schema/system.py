"""The state of a machine in the window of a visit: its logical CPUs and its system parameters (DIGEST G7).

The models of SMT and of frequency read the utilisations of a core's threads from here, by machine × time: a row's
machine and hour are its visit's.
"""

from sqlalchemy import BigInteger, Column, Date, Double, Index, Integer, SmallInteger, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from storage.schema.base import metadata

capture_cpu = Table(
    "capture_cpu",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column("cpu", Integer, primary_key=True, comment="logical CPU"),
    Column("day", Date, nullable=False),
    Column("core", Integer, comment="the kernel's number; NULL: topology not readable"),
    Column("package", Integer),
    Column("numa_node", Integer),
    Column(
        "core_cpu",
        Integer,
        comment="lowest logical CPU of its core, what threads of one core share; NULL: not known",
    ),
    Column("user_ms", Integer, nullable=False),
    Column("system_ms", Integer, nullable=False),
    Column("idle_ms", Integer, nullable=False),
    Column("iowait_ms", Integer, nullable=False),
    Column("irq_ms", Integer, nullable=False),
    Column("steal_ms", Integer, nullable=False),
    Column("mhz", Double, comment="mean over the window; NULL: not measured"),
    Column("min_mhz", Double, comment="limits of the governor; NULL: no cpufreq"),
    Column("max_mhz", Double),
    Column("idle_state_ms", JSONB, comment="time in each idle state by its name; NULL: not readable"),
    Index(None, "day"),
    comment="time of each logical CPU over the window; one that came or went within it has no row",
)

capture_system = Table(
    "capture_system",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column("day", Date, nullable=False),
    Column("seconds", Double, comment="length of the window; NULL: not recorded, like all below"),
    Column("utilisation", Double, comment="mean busy share of all logical CPUs, 0…1"),
    Column("load_1", Double),
    Column("load_5", Double),
    Column("load_15", Double),
    Column("tasks", Integer),
    Column("tasks_runnable", Integer, comment="at the end of the window"),
    Column(
        "pressure",
        JSONB,
        comment="stall shares avg10 in percent: {cpu: {some, full}, memory: …, io: …, irq: {full}}",
    ),
    Column("stalled_us", JSONB, comment='time stalled within the window, "some", by resource'),
    Column("memory_bytes", BigInteger),
    Column("memory_available_bytes", BigInteger, comment="at the end of the window"),
    Column("memory_available_before_bytes", BigInteger),
    Column("swap_used_bytes", BigInteger),
    Column("governor", Text, comment="several, joined by commas, where CPUs differ"),
    Column("frequency_driver", Text),
    Column("nominal_mhz", Double),
    Column("min_mhz", Double, comment="lowest and highest limit of any CPU's governor"),
    Column("max_mhz", Double),
    Column("hardware_min_mhz", Double),
    Column("hardware_max_mhz", Double),
    Column("logical_cpus", Integer),
    Column("cores", Integer),
    Column("packages", Integer),
    Column("threads_per_core", SmallInteger),
    Column("numa_nodes", Integer),
    Column("smt", Text, comment="on, off, forceoff, notsupported"),
    Column("idle_states", JSONB, comment="time to leave each, µs, by its name"),
    Column("microcode", Text),
    Column("kernel_release", Text),
    Column("virtualization", Text, comment="the hypervisor; none: bare metal"),
    Column("boot_id", Text),
    Index(None, "day"),
    comment="system parameters of the machine in the window of a visit",
)
