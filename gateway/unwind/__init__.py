"""From registers and a copied stack to return addresses, by the `.eh_frame` of the images.

No table is built ahead. `.eh_frame_hdr` is bisected, the one entry that covers a program counter is
evaluated when it is first met, and the rule found is kept. A capture meets some hundred entries of the
hundred thousands that its images hold, so nothing native is needed to keep up.

`elf` finds the tables in a file, `leb128` and `cfi` read an entry into rows, `rules` says what a row becomes,
`eh_frame` finds the entry for an offset (`scan` makes the index of a file that has none), `walker` walks, with
`unusual` and `expression` for the rows out of the ordinary and `machine_code` for code that has no entry. Only
`walker` knows of processes.
"""
