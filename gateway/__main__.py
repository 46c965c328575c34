"""`python -m gateway` is `fleetprof-gateway`."""

from gateway.daemon import main

main()
