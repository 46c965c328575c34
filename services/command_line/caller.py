"""Who runs a command, for records of changes."""

import getpass
import platform


def caller() -> str:
    """User and host, as in `ann@build7`; only the host for a user id without an account."""
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):
        return platform.node()
