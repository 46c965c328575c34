"""Checks of the server side's requirements for `fleetprof doctor`, each independent of the others."""
