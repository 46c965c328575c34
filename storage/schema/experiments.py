"""What operators measured of programs that share a chip, and uploaded (DIGEST I1, I2, I8)."""

from sqlalchemy import ARRAY, CheckConstraint, Column, Double, ForeignKey, Identity, Integer, Table, Text

from storage.schema.base import metadata, now, utc

experiment_set = Table(
    "experiment_set",
    metadata,
    Column("set_id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="what questions call it"),
    Column("added_by", Text, nullable=False, server_default="", comment="who, as far as it is known"),
    Column("added_at", utc, nullable=False, server_default=now),
    comment="one uploaded file of experiments; its runs are kept or removed together",
)

experiment_run = Table(
    "experiment_run",
    metadata,
    Column("set_id", Integer, ForeignKey("experiment_set.set_id", ondelete="CASCADE"), primary_key=True),
    Column("line", Integer, primary_key=True, comment="of the file, from 1, the heading among them"),
    Column("platform", Text, nullable=False, comment="CPU model, as machines have it"),
    Column("target", Text, nullable=False, comment="application that was watched"),
    Column("beside", ARRAY(Text), nullable=False, comment="what else ran on the chip; empty: the run alone"),
    Column("metric", Text, comment="time, cpi or ipc; NULL: only the pressure of the run alone is known"),
    Column("value", Double, comment="seconds, cycles per instruction or its inverse"),
    Column("lines", Double, comment="of a run alone: millions a second into the shared cache"),
    Column("gigabytes", Double, comment="of a run alone: read and written a second"),
    Column("cores", Double, comment="of a run alone: that the application kept busy"),
    CheckConstraint("metric in ('time', 'cpi', 'ipc')", name="metric"),
    CheckConstraint("(metric is null) = (value is null)", name="value"),
    # NaN is greater than infinity here.
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
