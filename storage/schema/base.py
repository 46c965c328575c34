"""Common definitions: constraint names, a clock, a column type, and the table with the database's identity."""

from sqlalchemy import Column, DateTime, Identity, Integer, MetaData, Table, Text, Uuid, func

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

now = func.now()
utc = DateTime(timezone=True)

database_identity = Table(
    "database_identity",
    metadata,
    Column(
        "number",
        Integer,
        Identity(),
        primary_key=True,
        comment="the row with the greatest number is this database's identity",
    ),
    Column("identity", Uuid, nullable=False, unique=True),
    Column("server", Text, nullable=False, comment="cluster and database in which the identity was assigned"),
    Column("since", utc, nullable=False, server_default=now),
    comment="one row for each creation or restore of the database; ids assigned since then are unique to it",
)
