"""Programs that users start: the API, the command line, the workers, and all of them on one machine."""
