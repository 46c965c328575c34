"""Which database this is: whose ids what was copied out of it speaks of."""

from sqlalchemy import Column, Identity, Integer, Table, Text, Uuid

from storage.schema.base import metadata, now, utc

database_identity = Table(
    "database_identity",
    metadata,
    Column("number", Integer, Identity(), primary_key=True, comment="the greatest is this database's"),
    Column("identity", Uuid, nullable=False, unique=True),
    Column("server", Text, nullable=False, comment="cluster and database it was given in"),
    Column("since", utc, nullable=False, server_default=now),
    comment="a row for each time the database began or was restored: ids given since are nobody else's",
)
