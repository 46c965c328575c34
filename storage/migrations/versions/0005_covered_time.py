"""What time a campaign's rounds covered is kept, so that visits beside a pause no longer stand for whole hours."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Of rounds drawn before, the hours are known, and of the hours at either end of a run the visits.
_KNOWN = """
INSERT INTO covered_time (campaign_id, begins, ends)
WITH drawn AS (
    SELECT DISTINCT campaign_id, hour FROM coverage WHERE drawn > 0
), marked AS (
    SELECT campaign_id, hour, hour - row_number() OVER (PARTITION BY campaign_id ORDER BY hour) AS run FROM drawn
), runs AS (
    SELECT campaign_id, min(hour) AS first, max(hour) AS last FROM marked GROUP BY campaign_id, run
)
SELECT
    r.campaign_id,
    coalesce(
        (
            SELECT min(v.drawn_at) FROM visit v
            WHERE v.campaign_id = r.campaign_id AND v.round <> -1
                AND v.drawn_at >= to_timestamp(r.first * 3600.0) AND v.drawn_at < to_timestamp((r.first + 1) * 3600.0)
        ),
        to_timestamp(r.first * 3600.0)
    ),
    coalesce(
        (
            SELECT least(max(v.drawn_at) + make_interval(secs => c.period_s), to_timestamp((r.last + 1) * 3600.0))
            FROM visit v
            WHERE v.campaign_id = r.campaign_id AND v.round <> -1
                AND v.drawn_at >= to_timestamp(r.last * 3600.0) AND v.drawn_at < to_timestamp((r.last + 1) * 3600.0)
        ),
        to_timestamp((r.last + 1) * 3600.0)
    )
FROM runs r JOIN campaign c USING (campaign_id)
"""


def upgrade() -> None:
    op.create_table(
        "covered_time",
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("begins", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "ends",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="of the last round's time; it is extended by the next round",
        ),
        sa.PrimaryKeyConstraint("campaign_id", "begins", name=op.f("pk_covered_time")),
        comment="runs of rounds that followed each other: visits of no other time were drawn",
    )
    op.create_index(op.f("ix_covered_time_campaign_id_ends"), "covered_time", ["campaign_id", "ends"])
    op.execute(_KNOWN)


def downgrade() -> None:
    op.drop_table("covered_time")
