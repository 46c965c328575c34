"""A fleet of gateways that exists only in the computer, with known truth (docs/numbers.md: numbers are checked by it)."""
