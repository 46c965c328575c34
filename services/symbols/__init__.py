"""Symbols as people deal with them: from files at hand to the repository, and what is still missing.

| module | noun |
|---|---|
| `desk` | what is done with the repository, whoever asks: the API or a command on this machine |
| `answers` | rows of the repository as the dictionaries that become JSON |
| `access` | what a command asks for, at the desk here or over HTTP at another's |
| `remote` | the same over HTTP |
| `files` | files worth uploading below some folders |
| `source_tree` | source files below a folder, as one archive |
| `tables` | the answers in a terminal |
"""
