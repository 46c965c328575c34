"""Buckets of closed days say what they were made of, and whether they are worth a row.

All buckets go: compaction makes those again that merge, out of cells of days, which are dropped no earlier than buckets.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0008 to that of 0009."""
    op.execute("TRUNCATE roll_weighted")
    op.drop_table("roll_built")
    op.create_table(
        "roll_built",
        sa.Column("cube", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("campaign_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("level", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1…3"),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "made_of",
            sa.BigInteger(),
            nullable=False,
            comment="fingerprint of its days' cells and weights; it answers while they have the same one",
        ),
        sa.Column(
            "merged",
            sa.Boolean(),
            nullable=False,
            comment="it is in roll_weighted; false: it would have more than half of the rows of what it is made of",
        ),
        sa.Column("built_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint(
            "cube",
            "campaign_id",
            "stacks",
            "sample_type_id",
            "level",
            "bucket",
            name=op.f("pk_roll_built"),
        ),
        comment="buckets of roll_weighted, and what they were made of",
    )
    op.add_column(
        "roll_day",
        sa.Column(
            "changes",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="how often its cells were written",
        ),
    )


def downgrade() -> None:
    """Change the schema of 0009 to that of 0008."""
    op.drop_column("roll_day", "changes")
    op.execute("TRUNCATE roll_weighted")
    op.drop_table("roll_built")
    op.create_table(
        "roll_built",
        sa.Column("cube", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("level", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1…3"),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("built_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("cube", "level", "bucket", name=op.f("pk_roll_built")),
        comment="buckets of roll_weighted that hold all there is; a row goes when one of its days changes",
    )
