"""Sign-in is shared by all API processes; tokens, saved views and prices are in the database."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_UTC = sa.DateTime(timezone=True)
_ROLES = "role in ('viewer', 'operator', 'admin')"


def upgrade() -> None:
    """Change the schema of 0013 to that of 0014."""
    op.create_table(
        "spent_link",
        sa.Column("nonce", sa.Text(), nullable=False, comment="random part of the link"),
        sa.Column(
            "expires_at",
            _UTC,
            nullable=False,
            comment="when the link expires; the row is removed after that",
        ),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_spent_link")),
        comment="login links that opened a session: each works once in all API processes",
    )
    op.create_table(
        "ended_session",
        sa.Column("nonce", sa.Text(), nullable=False, comment="random part of the session"),
        sa.Column(
            "expires_at",
            _UTC,
            nullable=False,
            comment="when the session ends in any case; then the row is removed",
        ),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_ended_session")),
        comment="browser sessions that were signed out: all API processes refuse them",
    )
    op.create_table(
        "api_token",
        sa.Column("token_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="name given by its maker"),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column(
            "digest", sa.LargeBinary(), nullable=False, comment="SHA-256 of the token, which is random"
        ),
        sa.Column("created_at", _UTC, server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "created_by", sa.Text(), server_default="", nullable=False, comment="caller or user, if known"
        ),
        sa.Column("expires_at", _UTC, comment="NULL: it does not expire"),
        sa.Column("used_on", sa.Date(), comment="last UTC day with a request; NULL: never used"),
        sa.CheckConstraint(_ROLES, name=op.f("ck_api_token_role")),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("name", name=op.f("uq_api_token_name")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_token_digest")),
        comment="bearer tokens of the API besides those of the settings; a revoked token has no row",
    )
    op.create_table(
        "saved_view",
        sa.Column("view_id", sa.Text(), nullable=False, comment="random; part of the short link /v/ID"),
        sa.Column("name", sa.Text(), comment="NULL: a short link only"),
        sa.Column("path", sa.Text(), nullable=False, comment="path and query of a page of the web UI"),
        sa.Column("role", sa.Text(), nullable=False, comment="role of the caller that saved it"),
        sa.Column("created_at", _UTC, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(_ROLES, name=op.f("ck_saved_view_role")),
        sa.PrimaryKeyConstraint("view_id", name=op.f("pk_saved_view")),
        sa.UniqueConstraint("name", name=op.f("uq_saved_view_name")),
        comment="addresses of the web UI that all readers of the installation share",
    )
    op.create_table(
        "core_price",
        sa.Column("platform", sa.Text(), nullable=False, comment="CPU model, as in machine.platform"),
        sa.Column(
            "price_per_core_hour", sa.Double(), nullable=False, comment="in the currency of the setting"
        ),
        sa.Column("changed_at", _UTC, server_default=sa.text("now()"), nullable=False),
        sa.Column("changed_by", sa.Text(), server_default="", nullable=False, comment="caller, if known"),
        sa.CheckConstraint(
            "price_per_core_hour >= 0 and price_per_core_hour < 'infinity'", name=op.f("ck_core_price_price")
        ),
        sa.PrimaryKeyConstraint("platform", name=op.f("pk_core_price")),
        comment="prices of platforms that differ from FLEETPROF_PRICE_PER_CORE_HOUR",
    )


def downgrade() -> None:
    """Change the schema of 0014 to that of 0013. Tokens, saved views and prices are lost."""
    for table in ("core_price", "saved_view", "api_token", "ended_session", "spent_link"):
        op.drop_table(table)
