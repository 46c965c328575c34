"""Unwinds from registers and a copied stack to return addresses, by the `.eh_frame` of the images.

No table is built in advance. The unwinder bisects `.eh_frame_hdr`, evaluates the one entry that covers a program
counter when it is first needed, and caches the rule. A capture needs some hundred of the hundred thousands of entries
in its images, so no native code is needed.

- `elf` finds the tables in a file; `leb128` and `cfi` read an entry into rows; `rules` defines the compiled rows.
- `eh_frame` finds the entry of an offset; `eh_frame_scan` builds the index of a file without one.
- `gateway.process.walker` walks stacks; only it knows processes.
- `general_rules` and `expression` handle rare rows, `machine_code` code without an entry.
"""
