"""What the API calls a parameter, in the words of a command line.

The store and the API say what to write as queries have it, `by=version`. Whoever types a command needs `--by version`; and of an argument
its place in the usage line, `REGEX memcpy`.
"""

import re
import shlex
from collections.abc import Mapping

_OPTION = "--"
_IN_QUERIES = re.compile(r'(?<![\w."/?&-])(?P<name>[a-z][a-z_]*)=(?!["~=])(?P<value>\{[^}]*\}|[^\s]*)')
"""A parameter with what to write. Of labels it is `application="x"`, in quotes, and that is the same for everybody."""
_QUOTED = re.compile(r"`(?P<name>[a-z][a-z_]*)`")
_STOPS = ".,;:"


def with_option_names(hint: str, called: Mapping[str, str]) -> str:
    """The hint with parameters as options, or as arguments: `called` has what each is called on this command line.

    What it does not have is taken for an option of the same name where a value is written, and left alone else.
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
