"""From a selection to a table or a tree (DIGEST G13-G15)."""
