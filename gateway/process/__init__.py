"""A process as the kernel describes it: its executable memory, the files behind it, its identity.

Everything here is read from `/proc` while the process runs and may vanish at any moment.
"""
