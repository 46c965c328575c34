"""Series are answered from cells: the table that was meant for them has never been written."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0003 to that of 0004."""
    op.drop_table("fseries")


def downgrade() -> None:
    """Change the schema of 0004 to that of 0003."""
    op.create_table(
        "fseries",
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), nullable=False),
        sa.Column("function_block", sa.Integer(), nullable=False, comment="64 functions"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="64 functions × 24 h, self and total"),
        sa.PrimaryKeyConstraint(
            "campaign_id", "sample_type_id", "function_block", "day", name=op.f("pk_fseries")
        ),
    )
    op.execute("ALTER TABLE fseries ALTER COLUMN data SET STORAGE EXTERNAL")
