"""Translate hints of the API into command-line syntax.

The store and the API write hints in query syntax, `by=version`. A user of a command needs `--by version`, or for an
argument its name in the usage line, `REGEX memcpy`.
"""

import re
import shlex
from collections.abc import Mapping

_OPTION = "--"
_IN_QUERIES = re.compile(r'(?<![\w."/?&-])(?P<name>[a-z][a-z_]*)=(?!["~=])(?P<value>\{[^}]*\}|[^\s]*)')
"""A parameter with a value. Labels are quoted, `application="x"`, and have the same syntax everywhere: no match."""
_QUOTED = re.compile(r"`(?P<name>[a-z][a-z_]*)`")
_STOPS = ".,;:"


def with_option_names(hint: str, called: Mapping[str, str]) -> str:
    """The hint with parameters as options or arguments; `called` maps parameters to their names on this command line.

    A parameter that `called` lacks becomes the option of the same name if a value follows, and is unchanged otherwise.
    """

    def option(found: re.Match[str]) -> str:
        return called.get(found["name"], f"{_OPTION}{found['name'].replace('_', '-')}")

    def written(found: re.Match[str]) -> str:
        value = found["value"].rstrip(_STOPS)
        stop = found["value"][len(value) :]
        if value in {"", "…"}:
            return f"{option(found)}{stop}"
        return f"{option(found)} {shlex.quote(value)}{stop}"

    def named(found: re.Match[str]) -> str:
        return called.get(found["name"], found[0])

    return _QUOTED.sub(named, _IN_QUERIES.sub(written, hint))
