"""The forms an answer can have, a module each: its question, its answer, and how one becomes the other."""
