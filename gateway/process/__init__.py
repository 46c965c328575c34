"""What the kernel says of a process: its executable memory, the files behind it, who it is.

Everything here is read from `/proc` while the process runs and may vanish at any moment.
"""
