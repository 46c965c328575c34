"""From resolved captures to rows, exactly once per (capture, generation) (DESIGN §3.7)."""
