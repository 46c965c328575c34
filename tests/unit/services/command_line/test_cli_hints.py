"""GIVEN a hint in the API's words WHEN a command prints it THEN parameters are what they are on its command line."""

import pytest

from services.command_line.cli_hints import with_option_names

CALLED = {"from": "--from", "to": "--to", "function": "FUNCTION", "functions": "REGEX", "target": "TARGET"}


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("Set step=1h or step=1d.", "Set --step 1h or --step 1d."),
        ("by= one of datacenter, machine.", "--by one of datacenter, machine."),
        ("latency_ns=90, for example.", "--latency-ns 90, for example."),
        ("rates=812,,640", "--rates 812,,640"),
        ("functions=memcpy|memmove", "REGEX 'memcpy|memmove'"),
        ("Name the application as target=…, and no other.", "Name the application as TARGET, and no other."),
        ("Set `from` to a time before `to`.", "Set --from to a time before --to."),
        (
            'For example function=malloc, or function={binary="libz.so.1"}.',
            "For example FUNCTION malloc, or FUNCTION '{binary=\"libz.so.1\"}'.",
        ),
        # What is the same everywhere:
        ('Add a matcher, e.g. application="…" or {platform=~"Zen.*"}.',) * 2,
        ('Write name="value", e.g. application="python3".',) * 2,
        ("`fleetprof campaigns` lists them.",) * 2,
        ("It is of `left_out`.",) * 2,
        ("See http://host/path?by=machine&step=1h",) * 2,
        ("Count them: fleetprof campaigns set … --counter l2-misses.",) * 2,
    ],
)
def test_hints(hint: str, said: str):
    assert with_option_names(hint, CALLED) == said
