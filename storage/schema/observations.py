"""What a capture says beside its samples: who was in it, for how long, with which counters."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Double,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
)

from storage.schema.base import metadata

capture_binary = Table(
    "capture_binary",
    metadata,
    Column("binary_id", Integer, ForeignKey("binary.binary_id"), primary_key=True),
    Column("visit_id", Uuid, primary_key=True),
    Column("day", Date, nullable=False),
    Column("samples", BigInteger, nullable=False, comment="samples whose stack has a frame in it"),
    Column("unresolved", BigInteger, nullable=False, comment="of those, with a frame here that has no name"),
    Column(
        "cpu_ns",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="of the samples, those of cpu: the time they stand for",
    ),
    Column("unresolved_cpu_ns", BigInteger, nullable=False, server_default="0"),
    Index(None, "visit_id"),
    Index(None, "day", postgresql_using="brin"),  # rows come in the order of days, and are many
    comment="which captures hold which binary, so that an upload finds what to land again",
)

capture_segment = Table(
    "capture_segment",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column("segment", SmallInteger, primary_key=True, autoincrement=False, comment="index in the capture"),
    Column("day", Date, nullable=False),
    Column("event", Text, nullable=False, comment="generic name, e.g. cpu"),
    Column(
        "sample_type_id",
        SmallInteger,
        ForeignKey("sample_type.sample_type_id"),
        comment="NULL unless status is ok",
    ),
    Column("stacks", Boolean, nullable=False, comment="false: flat, leaves only"),
    Column("source", Text, nullable=False, comment="what was really opened, e.g. cpu-clock"),
    Column("status", Text, nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
    Column("errno", Integer, nullable=False),
    Column(
        "seconds",
        Double,
        nullable=False,
        comment="this event was watched; less than the visit's when events take turns or samples were lost",
    ),
    Column("period", BigInteger, nullable=False, comment="units one sample stands for"),
    Column(
        "requested_period",
        BigInteger,
        nullable=False,
        comment="smaller than `period` when the rate was thinned",
    ),
    Column("thinned_why", Text, nullable=False, server_default=""),
    Column("samples", BigInteger, nullable=False, comment="0 is an answer too: the machine was idle"),
    Column("lost", BigInteger, comment="samples the kernel could not write; NULL: it does not count them"),
    Index(None, "day", "sample_type_id"),
    comment="how long each visit watched each event: the exposure behind its profiles, also when there are none",
)

capture_counter = Table(
    "capture_counter",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column(
        "reading",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="counters of one number were read together, so that their ratio means something",
    ),
    Column("name", Text, primary_key=True, comment="generic name"),
    Column("day", Date, nullable=False),
    Column("package", SmallInteger, comment="the socket; NULL: of the whole machine, or not known"),
    Column(
        "cpus",
        SmallInteger,
        nullable=False,
        comment="logical CPUs whose readings are added up; 0: it belongs to none",
    ),
    Column(
        "application",
        Integer,
        nullable=False,
        comment="dim_value id; 0: everything that ran, or several in one control group",
    ),
    Column("cgroup", Text, nullable=False, server_default="", comment="control group; '': not of one"),
    Column("status", Text, nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
    Column("errno", Integer, nullable=False, server_default="0"),
    Column("value", BigInteger, comment="sum of the raw readings; NULL unless status is ok"),
    Column(
        "scaled",
        Double,
        comment="sum of reading × time enabled / time running, in `unit`: what to add up and divide",
    ),
    Column("unit", Text, nullable=False, comment="of `scaled`: count, cycles, nanoseconds, joules, bytes"),
    Column(
        "source",
        Text,
        nullable=False,
        server_default="",
        comment="what was opened; '': the kernel's generic event",
    ),
    Column("time_enabled_ns", BigInteger, nullable=False, comment="sum over the readings"),
    Column("time_running_ns", BigInteger, nullable=False, comment="less where counters took turns"),
    Index(None, "day"),
    comment="what was counted over the window of a visit, of the machine, its sockets and its control groups",
)
