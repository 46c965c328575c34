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
    SELECT DISTINCT campaign_id, hour FROM coverage WHERE drawn > 0
), marked AS (
    SELECT campaign_id, hour, hour - row_number() OVER (PARTITION BY campaign_id ORDER BY hour) AS run FROM drawn
), runs AS (
    SELECT campaign_id, min(hour) AS first, max(hour) AS last FROM marked GROUP BY campaign_id, run
), beside AS (
    SELECT
        r.campaign_id, r.first, r.last, c.period_s,
        to_timestamp(r.first * 3600.0) AS begins,
        to_timestamp((r.last + 1) * 3600.0) AS ends,
        c.period_s * (1 + 5 / nullif(c.visits_per_round, 0)) AS long_s,
        (r.first - 1 - lag(r.last) OVER of_campaign) * 3600.0 AS before_s,
        (lead(r.first) OVER of_campaign - 1 - r.last) * 3600.0 AS after_s
    FROM runs r JOIN campaign c USING (campaign_id)
    WINDOW of_campaign AS (PARTITION BY r.campaign_id ORDER BY r.first)
)
SELECT
    campaign_id,
    CASE WHEN before_s <= long_s THEN begins ELSE coalesce(first_visit.drawn_at, begins) END,
    CASE WHEN after_s <= long_s THEN ends ELSE coalesce(least(last_visit.over_at, ends), ends) END
FROM beside
LEFT JOIN LATERAL (
    SELECT v.drawn_at FROM visit v
    WHERE v.campaign_id = beside.campaign_id AND v.round <> -1
        AND v.drawn_at >= begins AND v.drawn_at < begins + interval '1 hour'
    ORDER BY v.drawn_at LIMIT 1
) first_visit ON true
LEFT JOIN LATERAL (
    SELECT
        CASE
            WHEN v.drawn_at >= to_timestamp(v.round * period_s) AND v.drawn_at < to_timestamp((v.round + 1) * period_s)
            THEN to_timestamp((v.round + 1) * period_s)
            ELSE v.drawn_at + make_interval(secs => period_s)
        END AS over_at
    FROM visit v
    WHERE v.campaign_id = beside.campaign_id AND v.round <> -1
        AND v.drawn_at >= ends - interval '1 hour' AND v.drawn_at < ends
    ORDER BY v.drawn_at DESC LIMIT 1
) last_visit ON true
"""
"""Of rounds drawn before, hours and visits are known. Hours in a row are a run; from its first visit on, to the end of its last
visit's round. But where the next run is not farther than chance may have it for as few visits as are drawn, hours count whole."""

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
    op.drop_table("covered_time")
