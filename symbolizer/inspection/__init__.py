"""Identifies and rates symbol files of untrusted origin, in a child process."""
