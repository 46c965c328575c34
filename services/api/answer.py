"""The base model of answers that are no queries' answers."""

from typing import Any

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""An answer before encoding: a dictionary that becomes JSON without validation."""


class Answer(BaseModel):
    """Base of all answers: no member beyond those described."""

    model_config = ConfigDict(extra="forbid")
