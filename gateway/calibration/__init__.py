"""Figures of this machine's kind that no counter says, measured on request by keeping idle CPUs busy."""
