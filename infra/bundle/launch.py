"""The program inside the bundle: `fleetprof-gateway`."""

import sys

from gateway.daemon import main

sys.exit(main())
