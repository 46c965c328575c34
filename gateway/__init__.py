"""The daemon on every machine: opens perf events when asked, unwinds, and packs a capture (DIGEST G3, G7)."""
