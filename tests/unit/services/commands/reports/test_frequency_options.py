"""GIVEN a report with the options of frequencies WHEN it is run THEN it is handed what was typed, and asks as the routes do."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from services.api.analysis.frequency_parameters import FrequencyParameters
from services.commands.reports.frequency_options import FrequencyOptions, with_frequencies


@pytest.fixture
def handed() -> list[object]:
    return []


@pytest.fixture
def command(handed: list[object]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_frequencies
    def ask(
        frequencies: FrequencyOptions, name: str = "it", rows: Annotated[int, typer.Option(max=9)] = 2
    ) -> None:
        """Ask."""
        handed.append((frequencies, name, rows))

    return app


def test_what_is_not_typed_is_what_a_route_takes_for_it(command: typer.Typer, handed: list[object]) -> None:
    assert CliRunner().invoke(command, []).exit_code == 0
    assert handed == [(FrequencyOptions(), "it", 2)]
    assert FrequencyOptions().parameters() == FrequencyParameters()


def test_what_is_typed_is_asked(command: typer.Typer, handed: list[object]) -> None:
    words = ["--mhz", "2000,1600", "--memory-mhz", "3200", "--rows", "3", "--performance", "0.8"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    typed = FrequencyOptions(mhz="2000,1600", memory_mhz=3200.0, performance=0.8)
    assert handed == [(typed, "it", 3)]
    wanted = typed.parameters().wanted
    assert (wanted.frequencies_mhz, wanted.performance, wanted.memory) == ((2000.0, 1600.0), 0.8, None)


@pytest.mark.parametrize("words", [["--performance", "0"], ["--memory-part", "1.1"], ["--rows", "10"]])
def test_what_is_out_of_range_is_refused(
    command: typer.Typer, handed: list[object], words: list[str]
) -> None:
    assert CliRunner().invoke(command, words).exit_code == 2
    assert not handed
