"""How fast a program is at another clock frequency, from what was seen at one or a few (DIGEST D1-D8)."""
