"""Versions of applications: first sights, order, and the comparison of the newest with the one before."""
