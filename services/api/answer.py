"""What all answers of /api/v1 have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""An answer as it is made: a dictionary that becomes JSON, and is not validated on the way out."""


class Answer(BaseModel):
    """Base of all answers: no member beyond those described."""

    model_config = ConfigDict(extra="forbid")
