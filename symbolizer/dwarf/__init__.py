"""As much DWARF as tells what a file has and what it left to others."""
