"""How much slower a program runs beside others on one chip, from their pressure on its memory (DIGEST I1-I8)."""
