"""Answers of all questions as frozen dataclasses: one module for each question, and modules of parts that many have."""
