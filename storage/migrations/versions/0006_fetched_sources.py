"""Sources that were fetched for a reader are distinguished from uploaded ones, and functions are found by their file."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0005 to that of 0006."""
    op.add_column(
        "source_file",
        sa.Column(
            "fetched",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="a debuginfod server gave it for a reader, and nobody uploaded it: the oldest go where room is needed",
        ),
    )
    op.create_index(
        "ix_source_file_fetched", "source_file", ["added_at"], postgresql_where=sa.text("fetched")
    )
    op.create_index(
        "ix_function_file",
        "function",
        [sa.text('"left"(file, 256)')],
        postgresql_where=sa.text("file <> ''"),
    )


def downgrade() -> None:
    """Change the schema of 0006 to that of 0005."""
    op.drop_index("ix_function_file", "function")
    op.drop_index("ix_source_file_fetched", "source_file")
    op.drop_column("source_file", "fetched")
