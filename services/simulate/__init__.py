"""A fleet of gateways that exists only in the computer, with known truth (DESIGN §4: numbers are checked by it)."""
