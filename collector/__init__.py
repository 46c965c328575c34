"""Chooses machines to visit, the time and length of each visit, makes the visits, and stops failing campaigns.

Source: DIGEST G1, G2, G4.
"""
