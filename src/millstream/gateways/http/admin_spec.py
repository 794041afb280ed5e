"""The admin API in OpenAPI's words."""

from typing import Any, Final

from millstream.gateways.http.spec import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    Schema,
    array,
    document,
    nullable,
    operation,
    path,
    query,
    record,
)

_ERROR: Final = record({"error": record({"code": STRING, "message": STRING}, {"details": {}})})
_CONFIGS: Final[Schema] = {
    "type": "object",
    "additionalProperties": {"anyOf": [STRING, NUMBER, BOOLEAN, {"type": "null"}]},
}
_TOPIC: Final = record(
    {"name": STRING, "partitions": INTEGER, "replication_factor": INTEGER, "configs": _CONFIGS}
)
_PLACE: Final = record({"id": INTEGER, "host": STRING, "port": INTEGER})
_DONE: Final = record({"success": BOOLEAN, "topic": {}, "message": STRING}, {"partition": INTEGER})
_TOPIC_NAME: Final = path("topic", "The topic.", "orders")
_GROUP: Final = path("group", "The consumer group.", "billing")
_OFFSETS: Final = record(
    {
        "group_id": STRING,
        "offsets": array(
            record(
                {
                    "topic": STRING,
                    "partition": INTEGER,
                    "current_offset": INTEGER,
                    "log_end_offset": INTEGER,
                    "lag": INTEGER,
                }
            )
        ),
    }
)
_NEW_OFFSET: Final = record(
    {
        "topic": STRING,
        "partition": {"type": "integer", "minimum": 0},
        "offset": {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["earliest", "latest"]}]},
    }
)
_CONSUMER: Final = record(
    {"partition": {"type": "integer", "minimum": 0}, "consumer_id": {"type": "string", "minLength": 1}}
)
_CONSUMERS: Final = record({"topic": STRING, "consumers": array(_CONSUMER)})


def _answers(
    schema: Schema, *errors: tuple[int, str], status: int = 200
) -> dict[int, tuple[str, Schema | None]]:
    common = [(403, "a web page from elsewhere"), (413, "too large"), (429, "too much"), (503, "not now")]
    return {
        status: ("as asked", schema),
        **{code: (meaning, _ERROR) for code, meaning in (*errors, *common)},
    }


def _get(summary: str, schema: Schema, *parameters: Schema, missing: str = "") -> dict[str, Any]:
    errors = [(404, missing)] if missing else []
    return {"get": operation(summary, parameters=list(parameters), answers=_answers(schema, *errors))}


_PATHS: Final[dict[str, Schema]] = {
    "/health": {
        "get": operation(
            "Whether this node serves.",
            answers={
                200: ("it does", record({"status": STRING}, {"reason": STRING})),
                503: ("it does not", record({"status": STRING, "reason": STRING})),
            },
        )
    },
    "/metrics": {
        "get": operation("Figures for Prometheus.", answers={200: ("text", STRING)}, media="text/plain")
    },
    "/api/v1/topics": {
        **_get("Every topic.", record({"topics": array(_TOPIC)}), query("internal", "true: our own too.")),
        "post": operation(
            "Create a topic.",
            body=record(
                {"name": STRING},
                {
                    "partitions": nullable({"type": "integer", "minimum": 1}),
                    "replication_factor": nullable({"type": "integer", "minimum": 1}),
                    "configs": nullable(_CONFIGS),
                },
            ),
            example={
                "name": "orders",
                "partitions": 3,
                "replication_factor": 1,
                "configs": {"retention.ms": "86400000"},
            },
            answers=_answers(_DONE, (400, "not possible"), (409, "there is one already"), status=201),
        ),
    },
    "/api/v1/topics/{topic}": {
        **_get(
            "One topic and its partitions.",
            record(
                {
                    "name": STRING,
                    "partitions": array(
                        record(
                            {
                                "partition": INTEGER,
                                "leader": nullable(_PLACE),
                                "replicas": array(INTEGER),
                                "isr": array(INTEGER),
                            }
                        )
                    ),
                    "configs": _CONFIGS,
                }
            ),
            _TOPIC_NAME,
            missing="no such topic",
        ),
        "patch": operation(
            "Give a topic more partitions, or other configs; null takes a config back to the default.",
            parameters=[_TOPIC_NAME],
            body=record(
                {}, {"partitions": nullable({"type": "integer", "minimum": 1}), "configs": nullable(_CONFIGS)}
            ),
            example={"partitions": 6, "configs": {"retention.ms": "3600000"}},
            answers=_answers(_DONE, (400, "not possible"), (404, "no such topic")),
        ),
        "delete": operation(
            "Delete a topic and all that is in it.",
            parameters=[_TOPIC_NAME],
            answers=_answers(_DONE, (400, "it is the broker's own"), (404, "no such topic")),
        ),
    },
    "/api/v1/consumer-groups": _get(
        "Every consumer group.",
        record(
            {
                "groups": array(
                    record({"group_id": STRING, "state": STRING, "protocol": STRING, "members": INTEGER})
                )
            }
        ),
    ),
    "/api/v1/consumer-groups/{group}/offsets": {
        **_get("How far a group has come.", _OFFSETS, _GROUP, missing="no such group"),
        "put": operation(
            "Let a group go on from elsewhere; refused while it has members.",
            parameters=[_GROUP],
            body=record({"offsets": {**array(_NEW_OFFSET), "minItems": 1}}),
            example={"offsets": [{"topic": "orders", "partition": 0, "offset": "earliest"}]},
            answers=_answers(
                _OFFSETS,
                (400, "no such offset"),
                (404, "no such partition"),
                (409, "the group has members"),
            ),
        ),
    },
    "/api/v1/queues/{topic}/consumers": {
        **_get(
            "Which consumer of the HTTP queue has which partition.",
            _CONSUMERS,
            _TOPIC_NAME,
            missing="no such topic",
        ),
        "put": operation(
            "Say which consumers of the HTTP queue have which partitions, as when they come from elsewhere.",
            parameters=[_TOPIC_NAME],
            body=record({"consumers": array(_CONSUMER)}),
            example={"consumers": [{"partition": 0, "consumer_id": "worker-1"}]},
            answers=_answers(_CONSUMERS, (400, "not possible"), (404, "no such topic")),
        ),
    },
    "/api/v1/queues/{topic}/consumers/{consumer}": {
        "delete": operation(
            "Release a consumer of the HTTP queue that has gone: its partition is free for another.",
            parameters=[_TOPIC_NAME, path("consumer", "Its consumerId.", "worker-1")],
            answers=_answers(_DONE, (404, "no such topic, or no such consumer")),
        )
    },
    "/api/v1/cluster": _get(
        "The cluster and its brokers.",
        record(
            {
                "cluster_id": STRING,
                "controller": _PLACE,
                "brokers": array(
                    record({"id": INTEGER, "host": STRING, "port": INTEGER, "rack": nullable(STRING)})
                ),
            }
        ),
    ),
    "/api/v1/cluster/health": _get(
        "How the cluster is.",
        record(
            {
                "status": {"enum": ["healthy", "degraded", "unhealthy"]},
                "brokers_online": INTEGER,
                "brokers_total": INTEGER,
                "under_replicated_partitions": INTEGER,
                "offline_partitions": INTEGER,
            }
        ),
    ),
    "/api/v1/metrics/brokers": _get(
        "What passes through each broker, of about the last minute; usage in per cent.",
        record(
            {
                "brokers": array(
                    record(
                        {
                            "id": INTEGER,
                            "messages_in_per_sec": NUMBER,
                            "bytes_in_per_sec": NUMBER,
                            "bytes_out_per_sec": NUMBER,
                            "cpu_usage": NUMBER,
                            "memory_usage": NUMBER,
                            "disk_usage": NUMBER,
                        }
                    )
                )
            }
        ),
    ),
    "/api/v1/metrics/topics/{topic}": _get(
        "What passes through a topic, and what it holds.",
        record(
            {
                "topic": STRING,
                "messages_in_per_sec": NUMBER,
                "bytes_in_per_sec": NUMBER,
                "total_messages": INTEGER,
                "total_bytes": INTEGER,
                "partitions": array(
                    record(
                        {
                            "partition": INTEGER,
                            "size_bytes": INTEGER,
                            "messages": INTEGER,
                            "log_end_offset": INTEGER,
                        }
                    )
                ),
            }
        ),
        _TOPIC_NAME,
        missing="no such topic",
    ),
}

SPEC: Final = document(
    "Millstream admin API", "Topics, consumer groups and figures of a Millstream broker.", _PATHS
)
