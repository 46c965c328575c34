"""The gateway, the agent on each node: opens perf events on request, unwinds, packs captures (DIGEST G3, G7)."""
