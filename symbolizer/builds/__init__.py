"""One file of built symbols per binary: built once in a fleet, mapped by all workers."""
