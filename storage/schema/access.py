"""Sign-in of readers, API tokens, and what readers of one installation share: saved views and prices."""

from sqlalchemy import CheckConstraint, Column, Date, Double, Identity, Integer, LargeBinary, Table, Text

from storage.schema.base import metadata, now, utc

_ROLES = "role in ('viewer', 'operator', 'admin')"

spent_link = Table(
    "spent_link",
    metadata,
    Column("nonce", Text, primary_key=True, comment="random part of the link"),
    Column("expires_at", utc, nullable=False, comment="when the link expires; the row is removed after that"),
    comment="login links that opened a session: each works once in all API processes",
)

ended_session = Table(
    "ended_session",
    metadata,
    Column("nonce", Text, primary_key=True, comment="random part of the session"),
    Column(
        "expires_at",
        utc,
        nullable=False,
        comment="when the session ends in any case; then the row is removed",
    ),
    comment="browser sessions that were signed out: all API processes refuse them",
)

api_token = Table(
    "api_token",
    metadata,
    Column("token_id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="name given by its maker"),
    Column("role", Text, nullable=False),
    Column(
        "digest", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the token, which is random"
    ),
    Column("created_at", utc, nullable=False, server_default=now),
    Column("created_by", Text, nullable=False, server_default="", comment="caller or user, if known"),
    Column("expires_at", utc, comment="NULL: it does not expire"),
    Column("used_on", Date, comment="last UTC day with a request; NULL: never used"),
    CheckConstraint(_ROLES, name="role"),
    comment="bearer tokens of the API besides those of the settings; a revoked token has no row",
)

saved_view = Table(
    "saved_view",
    metadata,
    Column("view_id", Text, primary_key=True, comment="random; part of the short link /v/ID"),
    Column("name", Text, unique=True, comment="NULL: a short link only"),
    Column("path", Text, nullable=False, comment="path and query of a page of the web UI"),
    Column("role", Text, nullable=False, comment="role of the caller that saved it"),
    Column("created_at", utc, nullable=False, server_default=now),
    CheckConstraint(_ROLES, name="role"),
    comment="addresses of the web UI that all readers of the installation share",
)

core_price = Table(
    "core_price",
    metadata,
    Column("platform", Text, primary_key=True, comment="CPU model, as in machine.platform"),
    Column("price_per_core_hour", Double, nullable=False, comment="in the currency of the setting"),
    Column("changed_at", utc, nullable=False, server_default=now),
    Column("changed_by", Text, nullable=False, server_default="", comment="caller, if known"),
    # In PostgreSQL NaN is greater than infinity.
    CheckConstraint("price_per_core_hour >= 0 and price_per_core_hour < 'infinity'", name="price"),
    comment="prices of platforms that differ from FLEETPROF_PRICE_PER_CORE_HOUR",
)
