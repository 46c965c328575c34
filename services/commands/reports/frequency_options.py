"""Options of all reports on frequencies."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from services.api.analysis.frequency_parameters import FrequencyParameters

_NAME = "frequencies"


@dataclass(frozen=True, slots=True)
class FrequencyOptions:
    """The options as typed; each field is an option of the command line."""

    mhz: Annotated[
        str,
        typer.Option(help="Frequencies, comma-separated. Default: from the base frequency to half of it."),
    ] = ""
    base_mhz: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=100_000,
            help="Base frequency of slowdowns. Default: the observed mean; for timed runs the highest.",
        ),
    ] = None
    performance: Annotated[
        float,
        typer.Option(min=0.01, max=1, help="Fraction of the performance at the base frequency to keep."),
    ] = 0.9
    memory_mhz: Annotated[
        float | None,
        typer.Option(min=1, max=100_000, help="Frequency of the memory during the measurements."),
    ] = None
    memory_target_mhz: Annotated[
        float | None,
        typer.Option(
            min=1, max=100_000, help="Also predict for a memory of this frequency; needs --memory-mhz."
        ),
    ] = None
    memory_part: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Fraction of the waiting time that depends on the memory's clock; 1 gives the largest effect of latency.",
        ),
    ] = 1.0

    def parameters(self) -> "FrequencyParameters":
        """The options as the API's parameters."""
        from services.api.analysis.frequency_parameters import (  # noqa: PLC0415 - a command imports what it runs
            FrequencyParameters,
        )

        return FrequencyParameters(**asdict(self))


def with_frequencies(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of `FrequencyOptions` as options; it receives them as its parameter `frequencies`.

    Typer reads options from a signature and has no groups of options.
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
