"""What time a campaign's rounds covered is kept, so that visits beside a pause no longer stand for whole hours."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KNOWN = """
INSERT INTO covered_time (campaign_id, begins, ends)
WITH drawn AS (
    SELECT
        v.campaign_id, v.drawn_at,
        CASE
            WHEN v.drawn_at >= to_timestamp(v.round * c.period_s) AND v.drawn_at < to_timestamp((v.round + 1) * c.period_s)
            THEN to_timestamp((v.round + 1) * c.period_s)
            ELSE v.drawn_at + make_interval(secs => c.period_s)
        END AS over_at,
        v.drawn_at - lag(v.drawn_at) OVER of_campaign
            <= make_interval(secs => c.period_s * (1 + 10 / nullif(c.visits_per_round, 0))) AS follows
    FROM visit v JOIN campaign c USING (campaign_id)
    WHERE v.round <> -1
    WINDOW of_campaign AS (PARTITION BY v.campaign_id ORDER BY v.drawn_at)
), numbered AS (
    SELECT *, count(*) FILTER (WHERE follows IS NOT TRUE) OVER (PARTITION BY campaign_id ORDER BY drawn_at) AS run
    FROM drawn
)
SELECT campaign_id, min(drawn_at), max(over_at) FROM numbered GROUP BY campaign_id, run
"""
"""Of rounds drawn before, the visits are known. Those no farther apart than chance may have it, with as few as are drawn, are of one run: from
the first one on, to the end of the last one's round."""

_BUILD_AGAIN = r"""
WITH moments AS (
    SELECT unnest(ARRAY[begins, ends]) AS moment FROM covered_time
), old AS (
    SELECT DISTINCT b.level, b.bucket
    FROM roll_built b JOIN moments ON floor(extract(epoch FROM moment) / 86400)::int / power(4, b.level)::int = b.bucket
    WHERE extract(epoch FROM moment)::numeric % 3600 <> 0
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
"""Closed days have the weights of hours that counted whole: those in which a run begins or ends are built again by whoever merges days."""


def upgrade() -> None:
    """Change the schema of 0004 to that of 0005."""
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
    op.execute(_BUILD_AGAIN)


def downgrade() -> None:
    """Change the schema of 0005 to that of 0004."""
    op.drop_table("covered_time")
