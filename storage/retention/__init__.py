"""What is kept for how long, and in which order it goes.

| what | kept |
|---|---|
| facts (`profile`, `chunk`, `line_chunk`) and raw captures | `Keep.facts_days` |
| cells of hours | `storage.rollup` says |
| cells of days and of more, and what they are weighed and counted with: coverage, exposure, visits | `Keep.cells_days` |
| debug files, what is built from them, sources | `Keep.symbols_days` after they or their binary were used last (`storage.symbols.symbol_retention`) |
| dictionary rows that none of these use | until the next `storage.dictionary_sweep` |

Raw captures live as long as facts, so that better symbols can be ingested for as long as there is
something to improve. Cells outlive them: a day's facts go only when they are merged. Every step is a
transaction of its own that may be done twice, so whoever is killed in the middle leaves nothing to
mend: the next one goes on.
"""
