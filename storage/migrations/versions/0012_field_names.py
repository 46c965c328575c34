"""Tables and columns get the field's names: rollup, ingested, quarantined, reprocessing."""

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_TABLES = {
    "relanding": "reprocessing",
    "relanding_capture": "reprocessing_capture",
    "roll": "rollup",
    "roll_built": "rollup_long_built",
    "roll_day": "rollup_day",
    "roll_queue": "rollup_queue",
    "roll_replaced": "rollup_retraction",
    "roll_weighted": "rollup_long",
}
_COLUMNS = {  # by the new name of the table
    "capture": {"landed": "ingested", "landed_at": "ingested_at", "set_aside": "quarantined"},
    "reprocessing": {"relanding_id": "reprocessing_id"},
    "reprocessing_capture": {"relanding_id": "reprocessing_id"},
    "rollup_day": {"folded_at": "rolled_up_at"},
}
_NAMES = {
    "ix_capture_landed_at": "ix_capture_ingested_at",
    "ix_capture_set_aside": "ix_capture_quarantined",
}
"""Of indexes whose names carry the column only."""
_COMMENTS = (
    ("capture", "attempts", "landings tried for `wanted`", "ingestions tried for `wanted`"),
    (
        "capture",
        "expired",
        "its day's partitions were dropped before `landed` could land; no facts",
        "its day's partitions were dropped before generation `wanted` was ingested; no facts",
    ),
    ("capture", "ingested", "generation that is landed; 0: none", "generation that is ingested; 0: none"),
    (
        "capture",
        "newer_format",
        "it was set aside because its layout is this one, newer than the program; NULL: not for that",
        "it was quarantined because its layout is this one, newer than the program; NULL: not for that",
    ),
    ("capture", "wanted", "generation that should be landed", "generation that should be ingested"),
    (
        "chunk",
        "data",
        "(stack id, samples) pairs, storage/blobs/facts.py",
        "(stack id, samples) pairs, storage/blobs/fact_blobs.py",
    ),
    (
        "function",
        "binary_key",
        "set for a function landed without a name",
        "set for a function ingested without a name",
    ),
    ("reprocessing", "captures", "to be landed again", "to be reprocessed"),
    (
        "reprocessing",
        "failed",
        "of them, set aside or no longer archived; counted at the end",
        "of them, quarantined or no longer archived; counted at the end",
    ),
    (
        "reprocessing_capture",
        "day",
        "the visit's; the newest are landed again first",
        "the visit's; the newest are reprocessed first",
    ),
    (
        "reprocessing_capture",
        "generation",
        "it shall be landed as; NULL: its turn has not come",
        "to be ingested as; NULL: not queued yet",
    ),
    (
        "rollup",
        "moments",
        "what each visit has of each function, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rolling/moments_codec.py); always there",
        "what each visit has of each function, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rollup/moments_codec.py); always there",
    ),
    (
        "rollup_long",
        "data",
        "(stack id, units) pairs, raw, as in `roll`",
        "(stack id, units) pairs, raw, as in `rollup`",
    ),
    ("rollup_long", "total", "raw, as in `roll`", "raw, as in `rollup`"),
    (
        "rollup_long_built",
        "merged",
        "it is in roll_weighted; false: it would have more than half of the rows of what it is made of",
        "it is in rollup_long; false: it would have more than half of the rows of what it is made of",
    ),
    (
        "rollup_queue",
        "sign",
        "+1: add the visit's profiles; -1: take the roll_replaced rows of this entry out",
        "+1: add the visit's profiles; -1: take the rollup_retraction rows of this entry out",
    ),
    ("rollup_retraction", "entry_id", "roll_queue's", "rollup_queue's"),
    (
        "stack",
        "hash",
        "of its function ids (storage/landing/stack_hash.py)",
        "of its function ids (storage/ingest/stack_hash.py)",
    ),
    (
        "stack_sealed",
        "data",
        "ascending (80 bits of the hash, stack id) (storage/landing/sealed_stacks.py)",
        "ascending (80 bits of the hash, stack id) (storage/ingest/sealed_stacks.py)",
    ),
    (
        "stratum",
        "thinning",
        "times its visits were halved because captures waited to be landed; 0: as planned",
        "times its visits were halved because captures waited to be ingested; 0: as planned",
    ),
    (
        "visit",
        "cluster",
        "the machine's at the draw: what is landed again later keeps it",
        "the machine's at the draw: what is reprocessed later keeps it",
    ),
    (
        "capture_binary",
        None,
        "which captures hold which binary, so that an upload finds what to land again",
        "which captures hold which binary, so that an upload finds what to reprocess",
    ),
    (
        "dictionary_epoch",
        None,
        "locked in share by every landing, so that no row goes that one is about to use",
        "locked in share by every ingestion, so that no row goes that one is about to use",
    ),
    (
        "dictionary_touched",
        None,
        "rows that landings found again while a sweep marked: they stay",
        "rows that ingestions found again while a sweep marked: they stay",
    ),
    (
        "reprocessing",
        None,
        "captures that are landed again because a binary's symbols have become better",
        "captures that are reprocessed because a binary's symbols have become better",
    ),
    (
        "reprocessing_capture",
        None,
        "what a relanding under way is about; its rows go when it is finished",
        "what a reprocessing under way is about; its rows go when it is finished",
    ),
    (
        "rollup_long_built",
        None,
        "buckets of roll_weighted, and what they were made of",
        "buckets of rollup_long, and what they were made of",
    ),
    (
        "rollup_queue",
        None,
        "visits landed but not yet merged into cells; whole visits, because variances are between visits",
        "visits ingested but not yet merged into cells; whole visits, because variances are between visits",
    ),
)
"""(table, column or None, before, now)."""


def upgrade() -> None:
    """Change the schema of 0011 to that of 0012."""
    for before, now in _TABLES.items():
        op.rename_table(before, now)
    for table, columns in _COLUMNS.items():
        for before, now in columns.items():
            op.alter_column(table, before, new_column_name=now)
    _rename_rest({**_TABLES, "relanding_id": "reprocessing_id"}, _NAMES)
    for table, column, _, comment in _COMMENTS:
        _comment(table, column, comment)


def downgrade() -> None:
    """Change the schema of 0012 to that of 0011."""
    for table, column, comment, _ in _COMMENTS:
        _comment(table, column, comment)
    for table, columns in _COLUMNS.items():
        for before, now in columns.items():
            op.alter_column(table, now, new_column_name=before)
    back = {now: before for before, now in _TABLES.items()}
    for now, before in back.items():
        op.rename_table(now, before)
    _rename_rest({**back, "reprocessing_id": "relanding_id"}, {now: before for before, now in _NAMES.items()})


def _comment(table: str, column: str | None, comment: str) -> None:
    where = f"TABLE {table}" if column is None else f"COLUMN {table}.{column}"
    op.execute(
        sa.text(f"COMMENT ON {where} IS :comment").bindparams(
            sa.bindparam("comment", comment, literal_execute=True)
        )
    )


def _rename_rest(words: Mapping[str, str], names: Mapping[str, str]) -> None:
    """Constraints, indexes and sequences that carry a name of a table or column follow it, the longest name first."""
    connection = op.get_bind()
    ordered = sorted(words, key=len, reverse=True)

    def renamed(name: str) -> str:
        if name in names:
            return names[name]
        prefix, _, rest = name.partition("_")
        if prefix in ("pk", "fk", "ix", "uq", "ck"):
            for word in ordered:
                if rest == word or rest.startswith(f"{word}_"):
                    return f"{prefix}_{words[word]}{_columns(rest.removeprefix(word))}"
        elif name.endswith(("_seq", "_not_null")):
            for word in ordered:
                if name.startswith(f"{word}_"):
                    return words[word] + _columns(name.removeprefix(word))
        return name

    def _columns(rest: str) -> str:
        for word in ordered:
            rest = rest.replace(f"_{word}_", f"_{words[word]}_")
            if rest.endswith(f"_{word}"):
                rest = rest.removesuffix(word) + words[word]
        return rest

    for name, table in connection.execute(
        sa.text(
            "SELECT conname, conrelid::regclass::text FROM pg_constraint"
            " WHERE connamespace = current_schema()::regnamespace AND conparentid = 0"
        )
    ).all():
        if (now := renamed(name)) != name:
            op.execute(sa.text(f'ALTER TABLE {table} RENAME CONSTRAINT "{name}" TO "{now}"'))
    for name, kind in connection.execute(
        sa.text(
            "SELECT relname, relkind FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('i', 'S')"
        )
    ).all():
        if (now := renamed(name)) != name:
            what = "SEQUENCE" if kind == "S" else "INDEX"
            op.execute(sa.text(f'ALTER {what} "{name}" RENAME TO "{now}"'))
