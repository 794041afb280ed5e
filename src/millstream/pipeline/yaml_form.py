"""Pipelines in YAML, the work of each flow in SQL. What is not known is an error that says what it may be."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from millstream.pipeline.definition import End, InvalidPipeline, Pipeline, Table, Topic, table, topic

_PIPELINE: Final = (
    "pipeline",
    "brokers",
    "warehouse",
    "catalog",
    "checkpoints",
    "bad_records",
    "batch",
    "options",
    "spark",
    "flows",
)
_FLOW: Final = ("from", "into", "sql", "expect", "bad_records", "mode", "every")
_TEXTS: Final = ("json", "avro", "protobuf", "plain", "start", "kind", "sequence_by")


def read_yaml(text: str, where: str) -> Pipeline:
    """The pipeline that *text* describes; *where* it was found is named when something is wrong."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise InvalidPipeline(f"{where}: this is no YAML: {' '.join(str(problem).split())}") from None
    said = _mapping(where, found, _PIPELINE)
    flows = said.pop("flows", None)
    if not isinstance(flows, dict) or not flows:
        raise InvalidPipeline(f"{where}: it has no flows; write 'flows:' with one or more by name")
    name = said.pop("pipeline", None)
    if not isinstance(name, str):
        raise InvalidPipeline(f"{where}: it has no name; write 'pipeline: orders'")
    for each in ("brokers", "warehouse", "checkpoints", "bad_records"):
        _of_type(where, each, said, str, "text")
    _of_type(where, "batch", said, int, "a whole number")
    for each in ("options", "spark", "catalog"):
        _of_type(where, each, said, dict, "a mapping")
        if each in said:
            said[each] = {str(key): _word(value) for key, value in said[each].items()}
    pipeline = Pipeline(name, **said)
    for flow, body in flows.items():
        _add(pipeline, f"{where}: flow {flow!r}", str(flow), body)
    return pipeline


def _add(pipeline: Pipeline, where: str, name: str, body: object) -> None:
    said = _mapping(where, body, _FLOW)
    for each in ("from", "into"):
        if each not in said:
            raise InvalidPipeline(f"{where}: it does not say {each!r}")
    for each in ("sql", "mode", "every", "bad_records"):
        _of_type(where, each, said, str, "text")
    source = _sources(where, said["from"])
    pipeline.add(
        name,
        source,
        _end(f"{where}: into", said["into"]),
        _sql(said.get("sql")),
        expect=_expect(where, said.get("expect", [])),
        **{each: said[each] for each in ("bad_records", "mode", "every") if each in said},
    )


def _sources(where: str, said: object) -> End | dict[str, End]:
    if isinstance(said, dict) and not {"topic", "table"} & set(said):
        return {str(name): _end(f"{where}: from {name!r}", each) for name, each in said.items()}
    return _end(f"{where}: from", said)


def _end(where: str, said: object) -> End:
    if not isinstance(said, dict) or len({"topic", "table"} & set(said)) != 1:
        raise InvalidPipeline(f"{where}: say which, 'topic: orders' or 'table: lake.orders'")
    kind: type[Topic] | type[Table] = Topic if "topic" in said else Table
    word = kind.__name__.lower()
    known = [word, *(each.name for each in fields(kind) if each.name != "name")]
    given = _mapping(where, said, known)
    for each in _TEXTS:
        _of_type(where, each, given, str, "text")
    name = given.pop(word)
    if not isinstance(name, str):
        raise InvalidPipeline(f"{where}: {word} is {name!r}; it is a name")
    if "options" in given:
        _of_type(where, "options", given, dict, "a mapping")
        given["options"] = {key: _word(value) for key, value in given["options"].items()}
    if kind is Topic:
        _of_type(where, "key", given, str, "text")
    make: Callable[..., End] = topic if kind is Topic else table
    return make(name, **given)


def _expect(where: str, said: object) -> dict[str, str]:
    """Checks as a list of SQL, or of `{check: …, else: …}`."""
    found: dict[str, str] = {}
    for each in said if isinstance(said, list) else [said]:
        if isinstance(each, dict):
            one = _mapping(f"{where}: expect", each, ("check", "else"))
            found[str(one.get("check", ""))] = str(one.get("else", "drop"))
        else:
            found[str(each)] = "drop"
    if "" in found:
        raise InvalidPipeline(f"{where}: expect: write 'check: amount > 0' and 'else: drop'")
    return found


def _sql(text: str | None) -> Callable[..., Any]:
    """A flow's function: *text* with the sources as views; without it, what comes in goes out."""

    def make(**frames: Any) -> Any:
        return next(iter(frames.values())) if text is None else run_sql(text, frames)

    return make


def run_sql(text: str, frames: Mapping[str, Any]) -> Any:
    """What *text* selects from *frames*, which it knows by their names."""
    session = next(iter(frames.values())).sparkSession
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return session.sql(text)


def _mapping(where: str, said: object, known: Iterable[str]) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise InvalidPipeline(f"{where}: here goes a mapping with {', '.join(known)}")
    for key in said:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise InvalidPipeline(f"{where}: no key {key!r}; {hint}")
    return dict(said)


def _of_type(where: str, name: str, said: Mapping[str, Any], kind: type, words: str) -> None:
    if name in said and (not isinstance(said[name], kind) or isinstance(said[name], bool)):
        raise InvalidPipeline(f"{where}: {name} is {said[name]!r}; it is {words}")


def _word(value: object) -> str:
    """As Spark and Kafka write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
