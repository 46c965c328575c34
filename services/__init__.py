"""What people start: the API, the command line, the workers, and all of it on one machine."""
