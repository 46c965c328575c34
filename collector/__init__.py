"""Whom to visit, when and how long; the visits themselves; the brake (DIGEST G1, G2, G4)."""
