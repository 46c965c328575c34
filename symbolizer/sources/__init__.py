"""Where images and symbols come from, the best first."""
