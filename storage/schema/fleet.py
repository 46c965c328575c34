"""Who there is: machines, the strata that are drawn from, and the campaigns that draw."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
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
    Column("name", Text, nullable=False, unique=True, comment="operator's name of the machine"),
    Column("address", Text, nullable=False, comment="where its gateway listens: unix:/path or host:port"),
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
    Column("described", JSONB, comment="the whole of the last Machine message, as JSON"),
    Column("described_at", utc),
    Column("enabled", Boolean, nullable=False, server_default=text("true"), comment="false: never drawn"),
    Column("added_at", utc, nullable=False, server_default=now),
    Column("removed_at", utc, comment="not in the inventory any more; the row stays for its visits"),
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
        comment="times its visits were halved because captures waited to be landed; 0: as planned",
    ),
    Column(
        "visits_per_hour",
        Double,
        nullable=False,
        server_default="0",
        comment="that the campaign planned over all strata before thinning; 0: drawn before paces were kept, or by hand",
    ),
    UniqueConstraint("datacenter", "platform", "thinning", "visits_per_hour"),
    comment="draws are random within a stratum: datacenter × platform, and the hours drawn from as densely",
)

campaign = Table(
    "campaign",
    metadata,
    Column("campaign_id", SmallInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="'fleet' is the standing one"),
    Column("period_s", Double, nullable=False, comment="length of a round"),
    Column("visits_per_round", Double, nullable=False, comment="expected visits of a round, over all strata"),
    Column("plan", JSONB, nullable=False, comment="events: [{event, rate_hz, duration_ms, stacks, turn}]"),
    Column(
        "counted",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="besides the standing counters: {events: [name], cgroups: how many control groups}",
    ),
    Column(
        "select_machines",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="labels a machine must have",
    ),
    Column(
        "failure_threshold", Double, nullable=False, comment="share of failed visits that stops it (G4), 0…1"
    ),
    Column(
        "failure_window", Integer, nullable=False, comment="number of latest visits that share is taken over"
    ),
    Column("state", Text, nullable=False, server_default="running"),
    Column("state_why", Text, nullable=False, server_default="", comment="a sentence for a person"),
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
