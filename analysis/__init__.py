"""Estimators and models: pure functions over arrays, no input or output."""
