"""Collectors hold leases, so that visits of one that was killed end as lost within a minute."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0007 to that of 0008."""
    op.create_table(
        "collector_lease",
        sa.Column("collector_id", sa.Uuid(), nullable=False, comment="of one run of a collector"),
        sa.Column(
            "since",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="since when the lease was renewed without a gap",
        ),
        sa.Column(
            "alive_until",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="its open visits end as lost once this has passed",
        ),
        sa.PrimaryKeyConstraint("collector_id", name=op.f("pk_collector_lease")),
        comment="collectors that run, by the database's clock; renewed every few seconds",
    )
    op.add_column(
        "visit",
        sa.Column(
            "collector_id",
            sa.Uuid(),
            comment="run of the collector that makes it; NULL: by hand, or drawn before leases were kept",
        ),
    )


def downgrade() -> None:
    """Change the schema of 0008 to that of 0007."""
    op.drop_column("visit", "collector_id")
    op.drop_table("collector_lease")
