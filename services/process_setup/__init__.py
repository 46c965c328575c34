"""Setup that every process of fleetprof does at its start: logs, signals, CPUs, memory."""
