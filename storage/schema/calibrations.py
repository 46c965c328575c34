"""What was measured of platforms by benchmarks, and not by sampling (DIGEST A1, D2)."""

from sqlalchemy import CheckConstraint, Column, Double, Integer, Table, Text

from storage.schema.base import metadata, now, utc

calibration = Table(
    "calibration",
    metadata,
    Column(
        "kind",
        Text,
        primary_key=True,
        comment="smt: overlap coefficient; memory-latency: ns; memory-bandwidth: bytes/s of a socket",
    ),
    Column("platform", Text, primary_key=True, comment="CPU model, as machines have it"),
    Column("workload", Text, primary_key=True, comment="application, or a class of them; '': any"),
    Column("value", Double, nullable=False),
    Column("lo", Double, comment="95 % interval; NULL: it was given, or measured once"),
    Column("hi", Double),
    Column("source", Text, nullable=False, comment="measured or given"),
    Column("machine", Text, nullable=False, server_default="", comment="where it was measured"),
    Column("repetitions", Integer, nullable=False, server_default="0"),
    Column("at", utc, nullable=False, server_default=now),
    CheckConstraint("source in ('measured', 'given')", name="source"),
    CheckConstraint("kind in ('smt', 'memory-latency', 'memory-bandwidth')", name="kind"),
    comment="what models of cores and memory need besides counters; one figure a platform and workload",
)
