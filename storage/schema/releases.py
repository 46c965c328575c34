"""Releases: marks of deploys, and the nightly comparisons of each application's newest version with the one before."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

from storage.schema.base import metadata, now, utc

deploy = Table(
    "deploy",
    metadata,
    Column("deploy_id", Integer, Identity(always=True), primary_key=True),
    Column("application", Text, nullable=False, comment="label application of its profiles"),
    Column("version", Text, nullable=False, comment="label version of its profiles"),
    Column("deployed_at", utc, nullable=False, comment="start of the deploy, as stated by the caller"),
    Column("text", Text, nullable=False, server_default="", comment="description; '': none"),
    Column("link", Text, nullable=False, server_default="", comment="http or https URL; '': none"),
    Column("added_by", Text, nullable=False, server_default="", comment="user, if known"),
    Column("added_at", utc, nullable=False, server_default=now),
    Index(None, "deployed_at"),
    comment="marks of deploys, added by operators",
)

regression_night = Table(
    "regression_night",
    metadata,
    Column("day", Date, primary_key=True, comment="UTC day whose end the comparisons refer to"),
    Column(
        "attempt", Integer, nullable=False, comment="attempts so far; identifies the lease of the last one"
    ),
    Column("leased_until", utc, nullable=False, comment="no other process tries the night before this time"),
    Column("finished_at", utc, comment="NULL: not finished"),
    Column(
        "failure", Text, nullable=False, server_default="", comment="reason of the last failure, a sentence"
    ),
    Column("tested", Integer, nullable=False, server_default="0", comment="rows of all comparisons together"),
    Column("interval_level", Double, comment="level of all intervals; NULL: nothing was tested"),
    comment="nights whose regressions were computed, or are being computed, each once",
)

regression = Table(
    "regression",
    metadata,
    Column("day", Date, ForeignKey("regression_night.day", ondelete="CASCADE"), primary_key=True),
    Column("application", Text, primary_key=True),
    Column(
        "kind", Text, nullable=False, comment="release: two versions; week: seven days and the seven before"
    ),
    Column("verdict", Text, nullable=False, comment="changed, no_change, too_little"),
    Column("share", Double, nullable=False, comment="estimated share of the fleet, 0…1"),
    Column(
        "comparison",
        JSONB,
        nullable=False,
        comment="as in the answer of /api/v1/regressions: versions, visits, changed functions with intervals and q",
    ),
    CheckConstraint("kind in ('release', 'week')", name="kind"),
    CheckConstraint("verdict in ('changed', 'no_change', 'too_little')", name="verdict"),
    comment="one application's comparison of a night",
)
