"""What reading a snapshot of the store takes, whoever reads: queries, rollups and streams stand on it.

| module | what |
|---|---|
| `budget`, `deadlines` | what one question may take, and when its time is over |
| `copy_binary` | rows by COPY BINARY, as arrays |
| `remembered` | what a snapshot has said once |
| `decoded_cache` | decoded cells and chunks that stay between questions |
| `stack_reading` | the functions of stacks |
"""
