"""How fast facts of a fleet land, how small they are, and how fast they are found again."""
