"""What a symbol file is that somebody gave us, found out in a child process."""
