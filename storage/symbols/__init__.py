"""Where symbols are kept, what is built from them, and what becomes of captures when better ones come.

| module | noun |
|---|---|
| `kinds` | what a debug file is, and how much it says |
| `candidates` | the files that may name a binary's functions; several, ranked, replaceable |
| `blobs` | their bytes in the archive, by content |
| `caches`, `builds` | lookup tables built from them, and who builds which |
| `parts` | files that complete others |
| `sources` | source files, by content |
| `absences` | where symbols are known not to be |
| `asks` | whom the collector asks for symbols that nobody has |
| `missing` | what has no names yet, and how much it hides |
| `reprocessing` | captures that are reprocessed because symbols became better |
| `news` | which binaries' symbols changed lately |
| `improved` | which binaries' captures were ingested with worse symbols than there are |
| `retain` | what goes when |

A binary is its key, as in `storage.schema.binary.key`; it need not have been seen in any capture yet.
"""
