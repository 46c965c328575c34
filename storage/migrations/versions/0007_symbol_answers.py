"""What a gateway says of a binary counts for the fleet once another machine's says the same.

Files that gateways gave before stay in use; their origin, `gateway`, says that nobody compared them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_OUTCOMES = "outcome in ('asked', 'got', 'unconfirmed', 'disputed', 'absent', 'refused', 'failed')"
_OUTCOMES_BEFORE = "outcome in ('asked', 'got', 'absent', 'refused', 'failed')"


def upgrade() -> None:
    """Change the schema of 0006 to that of 0007."""
    op.create_table(
        "symbol_answer",
        sa.Column("binary_key", sa.Text(), nullable=False, comment="of a kernel table that of its kernel"),
        sa.Column("machine_id", sa.Integer(), nullable=False, comment="whose answer it is"),
        sa.Column(
            "digest",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of the file; of a kernel table that of its kernel's part",
        ),
        sa.Column(
            "parts",
            postgresql.JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="of a kernel table the SHA-256, in hex, of each module's part, by what names the module",
        ),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["machine_id"], ["machine.machine_id"], name=op.f("fk_symbol_answer_machine_id")
        ),
        sa.PrimaryKeyConstraint("binary_key", "machine_id", name=op.f("pk_symbol_answer")),
        comment="what machines' gateways gave for a binary last, as digests: two must say the same for the fleet",
    )
    op.create_index(op.f("ix_symbol_answer_answered_at"), "symbol_answer", ["answered_at"])
    op.add_column(
        "debug_file",
        sa.Column(
            "machine_id",
            sa.Integer(),
            nullable=True,
            comment="the one machine whose word for it there is; NULL: it does not rest on one machine's word",
        ),
    )
    op.create_foreign_key(
        op.f("fk_debug_file_machine_id"), "debug_file", "machine", ["machine_id"], ["machine_id"]
    )
    op.create_index(
        op.f("ix_debug_file_machine_id"),
        "debug_file",
        ["machine_id"],
        postgresql_where=sa.text("machine_id is not null"),
    )
    op.alter_column(
        "debug_file",
        "origin",
        comment="upload, the debuginfod URL, or which machines gave it",
        existing_comment="upload, gateway, or the debuginfod URL",
        existing_nullable=False,
    )
    op.add_column(
        "symbol_ask",
        sa.Column(
            "asked_times",
            postgresql.ARRAY(sa.DateTime(timezone=True)),
            nullable=True,
            comment="when each of them was asked",
        ),
    )
    op.execute("UPDATE symbol_ask SET asked_times = array_fill(asked_at, ARRAY[cardinality(asked)])")
    op.alter_column("symbol_ask", "asked_times", nullable=False)
    op.drop_constraint(op.f("ck_symbol_ask_outcome"), "symbol_ask")
    op.create_check_constraint(op.f("ck_symbol_ask_outcome"), "symbol_ask", _OUTCOMES)


def downgrade() -> None:
    """Change the schema of 0007 to that of 0006."""
    op.execute("DELETE FROM symbol_ask WHERE outcome IN ('unconfirmed', 'disputed')")
    op.drop_constraint(op.f("ck_symbol_ask_outcome"), "symbol_ask")
    op.create_check_constraint(op.f("ck_symbol_ask_outcome"), "symbol_ask", _OUTCOMES_BEFORE)
    op.drop_column("symbol_ask", "asked_times")
    op.alter_column("debug_file", "origin", comment="upload, gateway, or the debuginfod URL")
    op.drop_column("debug_file", "machine_id")
    op.drop_table("symbol_answer")
