"""`python -m gateway` is `fleetprof-gateway`."""

import sys

from gateway.daemon import main

sys.exit(main())
