"""Experiments of programs that share a chip; closed days that count by function."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema of 0002 to that of 0003."""
    op.create_table(
        "experiment_set",
        sa.Column("set_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="what questions call it"),
        sa.Column(
            "added_by", sa.Text(), server_default="", nullable=False, comment="who, as far as it is known"
        ),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("set_id", name=op.f("pk_experiment_set")),
        sa.UniqueConstraint("name", name=op.f("uq_experiment_set_name")),
        comment="one uploaded file of experiments; its runs are kept or removed together",
    )
    op.create_table(
        "experiment_run",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column(
            "line", sa.Integer(), nullable=False, comment="of the file, from 1, the heading among them"
        ),
        sa.Column("platform", sa.Text(), nullable=False, comment="CPU model, as machines have it"),
        sa.Column("target", sa.Text(), nullable=False, comment="application that was watched"),
        sa.Column(
            "beside",
            sa.ARRAY(sa.Text()),
            nullable=False,
            comment="what else ran on the chip; empty: the run alone",
        ),
        sa.Column(
            "metric",
            sa.Text(),
            nullable=True,
            comment="time, cpi or ipc; NULL: only the pressure of the run alone is known",
        ),
        sa.Column(
            "value", sa.Double(), nullable=True, comment="seconds, cycles per instruction or its inverse"
        ),
        sa.Column(
            "lines",
            sa.Double(),
            nullable=True,
            comment="of a run alone: millions a second into the shared cache",
        ),
        sa.Column(
            "gigabytes", sa.Double(), nullable=True, comment="of a run alone: read and written a second"
        ),
        sa.Column(
            "cores", sa.Double(), nullable=True, comment="of a run alone: that the application kept busy"
        ),
        sa.CheckConstraint("metric in ('time', 'cpi', 'ipc')", name=op.f("ck_experiment_run_metric")),
        sa.CheckConstraint("(metric is null) = (value is null)", name=op.f("ck_experiment_run_value")),
        sa.CheckConstraint(
            "value > 0 and value < 'infinity' and lines >= 0 and lines < 'infinity'"
            " and gigabytes >= 0 and gigabytes < 'infinity' and cores > 0 and cores < 'infinity'",
            name=op.f("ck_experiment_run_figures"),
        ),
        sa.CheckConstraint(
            "case when beside = '{}' then lines is not null and gigabytes is not null and cores is not null"
            " else lines is null and gigabytes is null and cores is null and value is not null end",
            name=op.f("ck_experiment_run_shape"),
        ),
        sa.ForeignKeyConstraint(
            ["set_id"],
            ["experiment_set.set_id"],
            name=op.f("fk_experiment_run_set_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("set_id", "line", name=op.f("pk_experiment_run")),
        comment="one run of an application, alone on a chip or beside others",
    )
    op.execute(_BUILD_AGAIN)


_BUILD_AGAIN = r"""
WITH old AS (
    SELECT DISTINCT level, bucket FROM roll_weighted WHERE substring(moments FROM 1 FOR 1) = '\x01'::bytea
), left_over AS MATERIALIZED (
    SELECT DISTINCT bucket AS day FROM roll WHERE cube = 1 AND level = 0 AND EXISTS (SELECT FROM old)
), watched AS MATERIALIZED (
    SELECT DISTINCT day - DATE '1970-01-01' AS day FROM exposure WHERE EXISTS (SELECT FROM old)
), again AS (
    SELECT old.level, old.bucket
    FROM old JOIN watched ON watched.day / power(4, old.level)::int = old.bucket
    LEFT JOIN left_over USING (day)
    GROUP BY old.level, old.bucket HAVING bool_and(left_over.day IS NOT NULL)
), weighted AS (
    DELETE FROM roll_weighted USING again
    WHERE roll_weighted.level = again.level AND roll_weighted.bucket = again.bucket
)
DELETE FROM roll_built USING again WHERE roll_built.level = again.level AND roll_built.bucket = again.bucket
"""
"""Buckets of closed days whose cells do not say what was observed of each function are built again by whoever merges
days; those stay of whose days one has no cells any more. Until then cells of days answer."""


def downgrade() -> None:
    """Change the schema of 0003 to that of 0002."""
    op.drop_table("experiment_run")
    op.drop_table("experiment_set")
