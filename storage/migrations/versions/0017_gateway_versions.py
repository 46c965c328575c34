"""The name and version of the gateway of each capture."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier captures have NULL."""
    op.add_column(
        "capture_system",
        sa.Column(
            "gateway",
            sa.Text(),
            nullable=True,
            comment="name and version of the program that took the capture",
        ),
    )


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("capture_system", "gateway")
