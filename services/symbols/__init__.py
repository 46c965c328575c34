"""Symbols as people deal with them: from files at hand to the repository, and what is still missing.

| module | noun |
|---|---|
| `symbol_service` | what is done with the repository, whoever asks: the API or a command on this machine |
| `symbol_documents` | rows of the repository as the dictionaries that become JSON |
| `access` | what a command asks for, at the service here or over HTTP at another's |
| `local_access`, `remote_access` | the two of them |
| `symbol_files` | files worth uploading below some folders |
| `uploading` | what an upload of many files does, and what comes of it, as events |
| `source_tree` | source files below a folder, as one archive |
| `source_archive`, `source_child` | what such an archive holds, and the process that reads it |
| `terminal_tables`, `upload_progress`, `inspection_report` | answers, uploads under way, and one file, in a terminal |
"""
