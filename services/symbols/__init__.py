"""Symbols for people: uploading files to the repository, and listing missing symbols.

| module | noun |
|---|---|
| `symbol_service` | operations on the repository, for the API and for commands on this machine |
| `symbol_documents` | rows of the repository as JSON documents |
| `access` | the interface of commands to a repository, local or over HTTP |
| `local_access`, `remote_access` | its two implementations |
| `symbol_files` | files worth uploading below some folders |
| `uploading` | the upload of many files and its effects, as events |
| `source_tree` | source files below a folder, as one archive |
| `source_archive`, `source_child` | the members of such an archive, and the process that lists them |
| `highlighting`, `highlight_child` | the syntax of a source text, and the process that reads it |
| `terminal_tables`, `upload_progress`, `inspection_report` | terminal views of answers, uploads and one file |
"""
