"""`python -m services` is `fleetprof`."""

from services.cli import main

main()
