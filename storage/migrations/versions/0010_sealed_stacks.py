"""Stacks that have been looked up by hash for a while lie a hundred in a row; new ones still have a row each."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


_COMMENTS = {
    "stack": (
        "which id a stack has; its functions are in stack_block",
        "which id a stack has that has not moved to stack_sealed yet; its functions are in stack_block",
    ),
    "stack_block": (
        "the functions of stacks, neighbouring ids together; what is looked up by hash is in stack",
        "the functions of stacks, neighbouring ids together; what is looked up by hash is in stack and stack_sealed",
    ),
}


def upgrade() -> None:
    """Change the schema of 0009 to that of 0010."""
    for table, (before, after) in _COMMENTS.items():
        op.create_table_comment(table, after, existing_comment=before)
    op.create_table(
        "stack_sealed",
        sa.Column(
            "low",
            sa.Uuid(),
            nullable=False,
            comment="no hash of the row is less, none of the row before greater",
        ),
        sa.Column(
            "data",
            sa.LargeBinary(),
            nullable=False,
            comment="ascending (80 bits of the hash, stack id) (storage/landing/sealed_stacks.py)",
        ),
        sa.PrimaryKeyConstraint("low", name=op.f("pk_stack_sealed")),
        comment="which id a stack has, of those that moved here from stack",
    )


def downgrade() -> None:
    """Change the schema of 0010 to that of 0009."""
    # The last 48 bits of the hashes are not kept, so a stack that is met again gets another id; facts keep theirs.
    op.drop_table("stack_sealed")
    for table, (before, after) in _COMMENTS.items():
        op.create_table_comment(table, before, existing_comment=after)
