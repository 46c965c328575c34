"""What questions are about: events, times, label matchers, patterns, and the labels there are."""
