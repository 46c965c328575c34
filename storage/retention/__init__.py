"""Retention: what is kept how long, and the order of deletion.

| what | kept |
|---|---|
| facts (`profile`, `chunk`, `line_chunk`) and raw captures | `Keep.facts_days` |
| hourly cells | see `storage.rollup` |
| daily and coarser cells, and what weights and counts them: coverage, exposure, visits | `Keep.cells_days` |
| debug files, derived files, sources | `Keep.symbols_days` after last use (`storage.symbols.symbol_retention`) |
| dictionary rows that none of these use | until the next `storage.dictionary_sweep` |

Raw captures live as long as facts, so that better symbols can be ingested while facts can still improve. Cells outlive
both: a day's facts are deleted only after they are merged into cells. Every step is an idempotent transaction, so a
killed round leaves nothing to repair: the next one continues.
"""
