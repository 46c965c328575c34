"""The name under which a command stores rows."""

import getpass
import platform


def own_user() -> str:
    """This user and machine, `alice@host`; only the machine for a user id without an account."""
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):
        return platform.node()
