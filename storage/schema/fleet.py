"""Machines, strata, campaigns, and uploaded measurements of machines.

Measurements are benchmarks of platforms (DIGEST A1, D2) and experiments with programs that share a chip (DIGEST I1, I2,
I8).
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from storage.schema.base import metadata, now, utc

machine = Table(
    "machine",
    metadata,
    Column("machine_id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="name given by the operator"),
    Column("address", Text, nullable=False, comment="address of its gateway: unix:/path or host:port"),
    Column("datacenter", Text, nullable=False, server_default=""),
    Column("cluster", Text, nullable=False, server_default=""),
    Column("platform", Text, nullable=False, server_default="", comment="CPU model; '' until described"),
    Column("architecture", Text, nullable=False, server_default=""),
    Column("kernel", Text, nullable=False, server_default="", comment="kernel release"),
    Column("logical_cpus", Integer, comment="NULL until described, like the columns below"),
    Column("cores", Integer),
    Column("packages", Integer),
    Column("threads_per_core", SmallInteger),
    Column("nominal_mhz", Double),
    Column("memory_bytes", BigInteger),
    Column("labels", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("described", JSONB, comment="the complete last Machine message, as JSON"),
    Column("described_at", utc),
    Column("enabled", Boolean, nullable=False, server_default=text("true"), comment="false: never drawn"),
    Column("added_at", utc, nullable=False, server_default=now),
    Column("removed_at", utc, comment="when it was removed from the inventory; the row stays for its visits"),
)

stratum = Table(
    "stratum",
    metadata,
    Column("stratum_id", Integer, Identity(always=True), primary_key=True),
    Column("datacenter", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column(
        "thinning",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="how many times its visits were halved because of the ingestion backlog; 0: as planned",
    ),
    Column(
        "visits_per_hour",
        Double,
        nullable=False,
        server_default="0",
        comment="planned by the campaign over all strata, before thinning; 0: drawn before this was recorded, or requested manually",
    ),
    UniqueConstraint("datacenter", "platform", "thinning", "visits_per_hour"),
    comment="draws are random within a stratum: datacenter × platform, in hours with the same planned density",
)

campaign = Table(
    "campaign",
    metadata,
    Column("campaign_id", SmallInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="'fleet' is the permanent campaign"),
    Column("period_s", Double, nullable=False, comment="length of a round"),
    Column("visits_per_round", Double, nullable=False, comment="expected visits of a round, over all strata"),
    Column("plan", JSONB, nullable=False, comment="events: [{event, rate_hz, duration_ms, stacks, turn}]"),
    Column(
        "counted",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="in addition to the default counters: {events: [name], cgroups: number of control groups}",
    ),
    Column(
        "select_machines",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="labels that a machine must have",
    ),
    Column(
        "failure_threshold",
        Double,
        nullable=False,
        comment="share of failed visits that stops the campaign (G4), 0…1",
    ),
    Column(
        "failure_window",
        Integer,
        nullable=False,
        comment="number of latest visits over which that share is computed",
    ),
    Column("state", Text, nullable=False, server_default="running"),
    Column("state_why", Text, nullable=False, server_default="", comment="reason of the state, a sentence"),
    Column("state_at", utc, nullable=False, server_default=now),
    Column(
        "last_round",
        BigInteger,
        nullable=False,
        server_default="-1",
        comment="number of the last round drawn",
    ),
    Column("created_at", utc, nullable=False, server_default=now),
    CheckConstraint("state in ('running', 'paused', 'stopped')", name="state"),
)

calibration = Table(
    "calibration",
    metadata,
    Column(
        "kind",
        Text,
        primary_key=True,
        comment="smt: overlap coefficient; memory-latency: ns; memory-bandwidth: bytes/s of a socket",
    ),
    Column("platform", Text, primary_key=True, comment="CPU model, as in machine.platform"),
    Column("workload", Text, primary_key=True, comment="application, or a class of them; '': any"),
    Column("value", Double, nullable=False),
    Column("lo", Double, comment="95 % interval; NULL: the value was given, or measured once"),
    Column("hi", Double),
    Column("source", Text, nullable=False, comment="measured or given"),
    Column("machine", Text, nullable=False, server_default="", comment="machine on which it was measured"),
    Column("repetitions", Integer, nullable=False, server_default="0"),
    Column("at", utc, nullable=False, server_default=now),
    CheckConstraint("source in ('measured', 'given')", name="source"),
    CheckConstraint("kind in ('smt', 'memory-latency', 'memory-bandwidth')", name="kind"),
    comment="inputs of the models of cores and memory besides counters; one value per platform and workload",
)

experiment_set = Table(
    "experiment_set",
    metadata,
    Column("set_id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="name used in queries"),
    Column("added_by", Text, nullable=False, server_default="", comment="user, if known"),
    Column("added_at", utc, nullable=False, server_default=now),
    comment="one uploaded file of experiments; its runs are deleted together",
)

experiment_run = Table(
    "experiment_run",
    metadata,
    Column("set_id", Integer, ForeignKey("experiment_set.set_id", ondelete="CASCADE"), primary_key=True),
    Column(
        "line", Integer, primary_key=True, comment="line number in the file, from 1, including the heading"
    ),
    Column("platform", Text, nullable=False, comment="CPU model, as in machine.platform"),
    Column("target", Text, nullable=False, comment="application that was measured"),
    Column(
        "beside",
        ARRAY(Text),
        nullable=False,
        comment="other applications on the chip; empty: the target ran alone",
    ),
    Column("metric", Text, comment="time, cpi or ipc; NULL: only the pressure of the target alone is known"),
    Column("value", Double, comment="seconds, cycles per instruction or its inverse"),
    Column("lines", Double, comment="of a run alone: millions of lines per second into the shared cache"),
    Column("gigabytes", Double, comment="of a run alone: GB read and written per second"),
    Column("cores", Double, comment="of a run alone: mean number of cores that the application used"),
    CheckConstraint("metric in ('time', 'cpi', 'ipc')", name="metric"),
    CheckConstraint("(metric is null) = (value is null)", name="value"),
    # In PostgreSQL NaN is greater than infinity.
    CheckConstraint(
        "value > 0 and value < 'infinity' and lines >= 0 and lines < 'infinity'"
        " and gigabytes >= 0 and gigabytes < 'infinity' and cores > 0 and cores < 'infinity'",
        name="figures",
    ),
    CheckConstraint(
        "case when beside = '{}' then lines is not null and gigabytes is not null and cores is not null"
        " else lines is null and gigabytes is null and cores is null and value is not null end",
        name="shape",
    ),
    comment="one run of an application, alone on a chip or beside others",
)
