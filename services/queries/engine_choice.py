"""The engines that can answer a question, and do so alike."""

from enum import StrEnum


class EngineChoice(StrEnum):
    """Who answers."""

    POSTGRES = "postgres"
    DUCKDB = "duckdb"
