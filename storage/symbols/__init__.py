"""Storage of symbols, the lookup tables built from them, and reprocessing of captures when symbols improve.

| module | contents |
|---|---|
| `kinds` | kinds of debug files and their quality levels |
| `candidates` | debug files of a binary: several, ranked, replaceable |
| `symbol_blobs` | their bytes in the archive, addressed by content |
| `caches`, `builds` | lookup tables built from debug files, and the leases of those builds |
| `companion_files` | files that complete others |
| `sources` | source files, addressed by content |
| `absences` | negative cache of places without a binary's symbols |
| `requests` | the collector's requests to gateways for symbols that no server has |
| `answers` | agreement between gateways on a binary's symbols |
| `missing_symbols`, `binary_usage` | binaries without names, and how many samples they hide |
| `reprocessing` | re-ingestion of captures whose symbols improved |
| `recent_changes` | binaries whose symbols changed recently |
| `improved_binaries` | binaries whose captures were ingested with worse symbols than now exist |
| `symbol_retention` | retention rules |

A binary is identified by its key, as in `storage.schema.binary.key`. It need not occur in any capture yet.
"""
