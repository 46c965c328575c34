"""Shared parts of commands: hints, tables, errors with a caret."""
