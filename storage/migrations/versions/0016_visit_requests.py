"""Visits by hand that are requested over the API wait in a table until a collector takes them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of requested visits."""
    op.create_table(
        "visit_request",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column(
            "events",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="what to sample, as in campaign.plan",
        ),
        sa.Column("requested_by", sa.Text(), nullable=False, comment="role and address of the caller"),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column(
            "claimed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when a collector took it; NULL: it waits",
        ),
        sa.ForeignKeyConstraint(
            ["visit_id"], ["visit.visit_id"], name=op.f("fk_visit_request_visit_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("visit_id", name=op.f("pk_visit_request")),
        comment="a visit by hand that a collector is to make, requested over the API",
    )
    op.create_index(
        "ix_visit_request_waiting",
        "visit_request",
        ["requested_at"],
        postgresql_where=sa.text("claimed_at is null"),
    )


def downgrade() -> None:
    """Drop the table of requested visits."""
    op.drop_table("visit_request")
