"""The engines that can answer a query, with equal results."""

from enum import StrEnum


class EngineChoice(StrEnum):
    """The engine that answers."""

    POSTGRES = "postgres"
    DUCKDB = "duckdb"
