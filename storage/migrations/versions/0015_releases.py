"""Deploys are marked, and regressions of releases are computed every night."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_UTC = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create `deploy`, `regression_night` and `regression`."""
    op.create_table(
        "deploy",
        sa.Column("deploy_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("application", sa.Text(), nullable=False, comment="label application of its profiles"),
        sa.Column("version", sa.Text(), nullable=False, comment="label version of its profiles"),
        sa.Column(
            "deployed_at", _UTC, nullable=False, comment="start of the deploy, as stated by the caller"
        ),
        sa.Column("text", sa.Text(), server_default="", nullable=False, comment="description; '': none"),
        sa.Column(
            "link", sa.Text(), server_default="", nullable=False, comment="http or https URL; '': none"
        ),
        sa.Column("added_by", sa.Text(), server_default="", nullable=False, comment="user, if known"),
        sa.Column("added_at", _UTC, server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("deploy_id", name=op.f("pk_deploy")),
        comment="marks of deploys, added by operators",
    )
    op.create_index(op.f("ix_deploy_deployed_at"), "deploy", ["deployed_at"])
    op.create_table(
        "regression_night",
        sa.Column("day", sa.Date(), nullable=False, comment="UTC day whose end the comparisons refer to"),
        sa.Column(
            "attempt",
            sa.Integer(),
            nullable=False,
            comment="attempts so far; identifies the lease of the last one",
        ),
        sa.Column(
            "leased_until",
            _UTC,
            nullable=False,
            comment="no other process tries the night before this time",
        ),
        sa.Column("finished_at", _UTC, comment="NULL: not finished"),
        sa.Column(
            "failure",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="reason of the last failure, a sentence",
        ),
        sa.Column(
            "tested",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="rows of all comparisons together",
        ),
        sa.Column("interval_level", sa.Double(), comment="level of all intervals; NULL: nothing was tested"),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_regression_night")),
        comment="nights whose regressions were computed, or are being computed, each once",
    )
    op.create_table(
        "regression",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("application", sa.Text(), nullable=False),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="release: two versions; week: seven days and the seven before",
        ),
        sa.Column("verdict", sa.Text(), nullable=False, comment="changed, no_change, too_little"),
        sa.Column("share", sa.Double(), nullable=False, comment="estimated share of the fleet, 0…1"),
        sa.Column(
            "comparison",
            JSONB(),
            nullable=False,
            comment="as in the answer of /api/v1/regressions: versions, visits, changed functions with intervals and q",
        ),
        sa.CheckConstraint("kind in ('release', 'week')", name=op.f("ck_regression_kind")),
        sa.CheckConstraint(
            "verdict in ('changed', 'no_change', 'too_little')", name=op.f("ck_regression_verdict")
        ),
        sa.ForeignKeyConstraint(
            ["day"],
            ["regression_night.day"],
            name=op.f("fk_regression_day"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("day", "application", name=op.f("pk_regression")),
        comment="one application's comparison of a night",
    )


def downgrade() -> None:
    """Drop the tables; marks and nightly results are lost."""
    op.drop_table("regression")
    op.drop_table("regression_night")
    op.drop_index(op.f("ix_deploy_deployed_at"), table_name="deploy")
    op.drop_table("deploy")
