"""Answers as terminal output: one view per module; `services.views.terminal` has the shared parts."""
