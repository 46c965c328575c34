"""Response models whose schemas are built when the OpenAPI document is first requested, not when routes are added.

FastAPI builds the schema of each route's response model, and pydantic builds that of a dataclass anew each time: half of
the API's 0.8 s of CPU time at start. Routes here encode their responses themselves, so only the document needs it.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from storage.query.answers.answer import Answer, adapter


@dataclass(frozen=True, slots=True)
class _Deferred:
    kind: type[Answer]
    also: tuple[type[Answer], ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        # The definitions around it have the handler refer to the answer by its name, not repeat it.
        for other in self.also:
            handler(core_schema.definitions_schema(adapter(other).core_schema, []))
        return handler(core_schema.definitions_schema(adapter(self.kind).core_schema, []))


def described_by(kind: type[Answer], *also: type[Answer]) -> Any:
    """The `response_model` of a route that encodes answers of this type itself.

    `also` are the types of other forms, which refer to them (`Form.answer`).
    """
    return Annotated[Any, _Deferred(kind, also)]
