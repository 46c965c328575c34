"""The pace that an hour was drawn with is part of its strata, so that another pace within a day weighs right at once."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_BEFORE, _NOW = (
    "uq_stratum_datacenter_platform_thinning",
    "uq_stratum_datacenter_platform_thinning_visits_per_hour",
)


def upgrade() -> None:
    """Change the schema of 0010 to that of 0011."""
    op.add_column(
        "stratum",
        sa.Column(
            "visits_per_hour",
            sa.Double(),
            server_default="0",
            nullable=False,
            comment="that the campaign planned over all strata before thinning; 0: drawn before paces were kept, or by hand",
        ),
    )
    op.drop_constraint(op.f(_BEFORE), "stratum")
    op.create_unique_constraint(
        op.f(_NOW), "stratum", ["datacenter", "platform", "thinning", "visits_per_hour"]
    )


def downgrade() -> None:
    """Change the schema of 0011 to that of 0010."""
    op.drop_constraint(op.f(_NOW), "stratum")
    op.create_unique_constraint(op.f(_BEFORE), "stratum", ["datacenter", "platform", "thinning"])
    op.drop_column("stratum", "visits_per_hour")
