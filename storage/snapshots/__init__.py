"""Read a snapshot of the store: shared by queries, rollups and streams.

| module | content |
|---|---|
| `query_budget`, `deadlines` | limits of one query, and its timeout |
| `copy_binary` | rows by COPY BINARY, as arrays |
| `snapshot_cache` | results cached within a snapshot |
| `decoded_cache` | decoded cells and chunks cached between queries |
| `stack_reading` | the functions of stacks |
"""
