"""Finds the hardware events that explain a program's speed, out of hundreds that can be counted (DIGEST M1-M8).

This package needs scikit-learn, which takes a second to import; services import it on first use.
"""
