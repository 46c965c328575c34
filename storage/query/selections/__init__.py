"""Selections of samples: events, time ranges, label matchers, patterns, and the existing labels."""
