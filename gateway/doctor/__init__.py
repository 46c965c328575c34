"""Checks of this machine: what limits the gateway, the consequence, and the fix."""
