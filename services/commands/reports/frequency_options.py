"""The options that every report on frequencies has."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from services.api.analysis.frequency_told import FrequenciesAsked

_NAME = "frequencies"


@dataclass(frozen=True, slots=True)
class FrequencyOptions:
    """As they were typed; each field is an option of the command line."""

    mhz: Annotated[
        str, typer.Option(help="Frequencies, comma-separated; empty: from the base to half of it.")
    ] = ""
    base_mhz: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=100_000,
            help="What slowdowns are against; else the mean of what was seen, and of timed runs the highest.",
        ),
    ] = None
    performance: Annotated[
        float, typer.Option(min=0.01, max=1, help="Part of that at the base frequency that must be kept.")
    ] = 0.9
    memory_mhz: Annotated[
        float | None,
        typer.Option(min=1, max=100_000, help="Frequency of the memory while all this was measured."),
    ] = None
    memory_target_mhz: Annotated[
        float | None,
        typer.Option(
            min=1, max=100_000, help="Foretell for a memory of this frequency too, beside --memory-mhz."
        ),
    ] = None
    memory_part: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Of the time that waits, what goes with the memory's clock; 1 is the most that latency can change.",
        ),
    ] = 1.0

    def asked(self) -> "FrequenciesAsked":
        """What they ask."""
        from services.api.analysis.frequency_told import (  # noqa: PLC0415 - a command imports what it runs
            FrequenciesAsked,
        )

        return FrequenciesAsked(**asdict(self))


def with_frequencies(command: Callable[..., None]) -> Callable[..., None]:
    """The command with `FrequencyOptions` as options of its own, which it is handed as its parameter `frequencies`.

    Typer reads options off a signature, and knows no groups of them.
    """
    options = inspect.signature(FrequencyOptions).parameters
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += options.values() if name == _NAME else [parameter]

    @functools.wraps(command)
    def typed(**given: Any) -> None:
        chosen = FrequencyOptions(**{name: given.pop(name) for name in options})
        command(**given, **{_NAME: chosen})

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    vars(typed)["__signature__"] = inspect.Signature(keyword)
    typed.__annotations__ = {each.name: each.annotation for each in keyword}
    return typed
