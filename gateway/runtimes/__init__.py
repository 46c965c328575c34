"""Source-level frames of programs that a language runtime interprets: detect, register, read, name."""
