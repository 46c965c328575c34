"""What queries and models need beyond version 0.1."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0001 to that of 0002."""
    op.create_table(
        "calibration",
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="smt: overlap coefficient; memory-latency: ns; memory-bandwidth: bytes/s of a socket",
        ),
        sa.Column("platform", sa.Text(), nullable=False, comment="CPU model, as machines have it"),
        sa.Column("workload", sa.Text(), nullable=False, comment="application, or a class of them; '': any"),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column(
            "lo", sa.Double(), nullable=True, comment="95 % interval; NULL: it was given, or measured once"
        ),
        sa.Column("hi", sa.Double(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False, comment="measured or given"),
        sa.Column("machine", sa.Text(), server_default="", nullable=False, comment="where it was measured"),
        sa.Column("repetitions", sa.Integer(), server_default="0", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "kind in ('smt', 'memory-latency', 'memory-bandwidth')", name=op.f("ck_calibration_kind")
        ),
        sa.CheckConstraint("source in ('measured', 'given')", name=op.f("ck_calibration_source")),
        sa.PrimaryKeyConstraint("kind", "platform", "workload", name=op.f("pk_calibration")),
        comment="what models of cores and memory need besides counters; one figure a platform and workload",
    )
    op.create_table(
        "database_identity",
        sa.Column(
            "number",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="the greatest is this database's",
        ),
        sa.Column("identity", sa.Uuid(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False, comment="cluster and database it was given in"),
        sa.Column("since", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_database_identity")),
        sa.UniqueConstraint("identity", name=op.f("uq_database_identity_identity")),
        comment="a row for each time the database began or was restored: ids given since are nobody else's",
    )
    op.create_index(
        op.f("ix_capture_archived_at"), "capture", ["archived_at"], unique=False, postgresql_using="brin"
    )
    op.create_index(op.f("ix_capture_landed_at"), "capture", ["landed_at"], unique=False)


def downgrade() -> None:
    """Change the schema of 0002 to that of 0001."""
    op.drop_index(op.f("ix_capture_landed_at"), table_name="capture")
    op.drop_index(op.f("ix_capture_archived_at"), table_name="capture", postgresql_using="brin")
    op.drop_table("database_identity")
    op.drop_table("calibration")
