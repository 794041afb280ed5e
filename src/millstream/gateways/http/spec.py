"""Small words to write an OpenAPI document with."""

from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TIME: Schema = {"type": "string", "format": "date-time"}
ANY: Schema = {}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these fields."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def path(name: str, meaning: str, example: Any = None) -> Schema:
    parameter = {"name": name, "in": "path", "required": True, "description": meaning, "schema": STRING}
    return parameter if example is None else {**parameter, "example": example}


def query(name: str, meaning: str, schema: Schema = STRING) -> Schema:
    return {"name": name, "in": "query", "required": False, "description": meaning, "schema": schema}


def operation(
    summary: str,
    *,
    parameters: list[Schema] | None = None,
    body: Schema | None = None,
    example: Any = None,
    answers: dict[int, tuple[str, Schema | None]],
    media: str = "application/json",
) -> Schema:
    """One call: what it is for, what it takes, and what it answers by status."""
    made: Schema = {"summary": summary, "parameters": parameters or [], "responses": {}}
    if body is not None:
        content: Schema = {"schema": body}
        if example is not None:
            content["example"] = example
        made["requestBody"] = {"required": True, "content": {"application/json": content}}
    for status, (meaning, schema) in answers.items():
        response: Schema = {"description": meaning}
        if schema is not None:
            response["content"] = {media if status < 300 else "application/json": {"schema": schema}}
        made["responses"][str(status)] = response
    return made


def document(title: str, description: str, paths: dict[str, Schema]) -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": "1",
            "description": description,
            "license": {"name": "Apache-2.0"},
        },
        "paths": paths,
    }
