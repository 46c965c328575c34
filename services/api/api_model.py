"""The base of the API's models that are not answers of queries (those: storage.query.answers)."""

from typing import Any

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""An answer before encoding: a dictionary that becomes JSON without validation."""


class ApiModel(BaseModel):
    """A JSON object without members beyond those described."""

    model_config = ConfigDict(extra="forbid")
