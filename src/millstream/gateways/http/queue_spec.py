"""The HTTP queue in OpenAPI's words."""

from typing import Final

from millstream.gateways.http.spec import (
    ANY,
    BOOLEAN,
    INTEGER,
    STRING,
    TIME,
    Schema,
    array,
    document,
    nullable,
    operation,
    path,
    query,
    record,
)

_TOPIC: Final = path("topicId", "The topic.", "my-topic")
_ERROR: Final = record({"success": BOOLEAN, "error": STRING, "errorCode": STRING})
_MESSAGE_ID: Final[Schema] = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}]}
_NEW_MESSAGE: Final = record(
    {"messageId": _MESSAGE_ID, "content": ANY},
    {
        "headers": {"type": "object", "additionalProperties": STRING},
        "ttlMs": {"type": "integer", "minimum": 0},
    },
)
_MESSAGE: Final = record(
    {"topicId": STRING, "messageId": nullable(STRING), "content": ANY},
    {
        "encoding": {"const": "base64"},
        "messageIdEncoding": {"const": "base64"},
        "partitionId": INTEGER,
        "offset": INTEGER,
        "timestamp": TIME,
        "headers": array(array(ANY)),
    },
)
_FROM: Final = query("from", "committed (unless given), earliest, latest, or the id of an event.")
_PARTITION: Final = query("partition", "Of this partition only.")


def _success(data: Schema) -> Schema:
    return record({"success": {"const": True}, "data": data})


def _answers(data: Schema, *errors: tuple[int, str]) -> dict[int, tuple[str, Schema | None]]:
    common = [(403, "a web page from elsewhere"), (413, "too large"), (429, "too much"), (503, "not now")]
    return {
        200: ("as asked", _success(data)),
        **{status: (meaning, _ERROR) for status, meaning in (*errors, *common)},
    }


_STATS: Final = record(
    {
        "brokerId": STRING,
        "topicCount": INTEGER,
        "topics": array(
            record(
                {
                    "topicId": STRING,
                    "partitionCount": INTEGER,
                    "partitions": array(
                        record(
                            {
                                "partitionId": INTEGER,
                                "logEndOffset": INTEGER,
                                "readOffset": INTEGER,
                                "bufferSize": INTEGER,
                                "pendingMessages": INTEGER,
                            }
                        )
                    ),
                }
            )
        ),
        "ingressBuffer": record({"bufferSize": INTEGER, "logEndOffset": INTEGER, "readOffset": INTEGER}),
        "timestamp": TIME,
    }
)

_BATCH_ANSWER: Final = record(
    {
        "topicId": STRING,
        "count": INTEGER,
        "failed": INTEGER,
        "messages": array(
            record(
                {"messageId": _MESSAGE_ID},
                {
                    "partitionId": INTEGER,
                    "offset": INTEGER,
                    "timestamp": TIME,
                    "error": STRING,
                    "errorCode": STRING,
                },
            )
        ),
    }
)

SPEC: Final = document(
    "Millstream HTTP queue",
    "Panda-Q's API over the same log that Kafka's clients use. Reading does not take a message away: "
    "it comes again until an offset is committed.",
    {
        "/register/{topicId}": {
            "post": operation(
                "Get a partition of the topic: the consumer's own if it has one, else the lowest free one.",
                parameters=[_TOPIC],
                body=record({"brokerId": STRING, "consumerId": STRING}),
                example={"brokerId": "broker_1", "consumerId": "worker-1"},
                answers=_answers(
                    record(
                        {
                            "topicId": STRING,
                            "brokerId": STRING,
                            "consumerId": STRING,
                            "partitionId": INTEGER,
                            "timestamp": TIME,
                        }
                    ),
                    (400, "a field is missing"),
                    (404, "no such topic"),
                    (409, "every partition has a consumer"),
                ),
            )
        },
        "/ingress/{topicId}": {
            "post": operation(
                "Write one message; the answer comes once it is durable.",
                parameters=[_TOPIC],
                body=record({"message": _NEW_MESSAGE}, {"brokerId": STRING}),
                example={"brokerId": "broker_1", "message": {"messageId": "m-1", "content": "Hello"}},
                answers=_answers(
                    record({"messageId": _MESSAGE_ID, "topicId": STRING, "timestamp": TIME}),
                    (400, "not of this shape, or content is null"),
                    (404, "no such topic"),
                ),
            )
        },
        "/ingress/{topicId}/batch": {
            "post": operation(
                "Write many messages; each is answered for itself.",
                parameters=[_TOPIC],
                body=record({"messages": {**array(_NEW_MESSAGE), "minItems": 1}}, {"brokerId": STRING}),
                example={
                    "messages": [{"messageId": "m-1", "content": 1}, {"messageId": "m-2", "content": 2}]
                },
                answers={
                    **_answers(_BATCH_ANSWER, (400, "not of this shape"), (404, "no such topic")),
                    207: ("some messages were refused", _success(_BATCH_ANSWER)),
                },
            )
        },
        "/consume/{brokerId}/{topicId}/{partitionId}": {
            "get": operation(
                "Read from the partition's read offset on, one message, or up to 5000 with b=t.",
                parameters=[
                    path("brokerId", "Any name: it is not looked at.", "broker_1"),
                    _TOPIC,
                    path("partitionId", "The partition, from 0.", "0"),
                    query("b", "t or true: a list of messages."),
                    query("max", "The most messages of a list.", {**INTEGER, "minimum": 1, "maximum": 5000}),
                    query(
                        "wait",
                        "Wait so many ms for the first message.",
                        {**INTEGER, "minimum": 0, "maximum": 60000},
                    ),
                    query("full", "true: with partition, offset, time and headers."),
                ],
                answers=_answers(
                    record(
                        {
                            "messages": {"anyOf": [array(_MESSAGE), _MESSAGE, {"type": "null"}]},
                            "count": INTEGER,
                            "startOffset": INTEGER,
                            "endOffset": INTEGER,
                        }
                    ),
                    (400, "max or wait is out of bounds"),
                    (404, "no such topic or partition"),
                ),
            )
        },
        "/commit": {
            "post": operation(
                "Move a partition's read offset: what lies before it is not read again.",
                body=record(
                    {
                        "topicId": STRING,
                        "partitionId": {"type": "integer", "minimum": 0},
                        "consumerId": STRING,
                        "offset": INTEGER,
                    },
                    {"brokerId": STRING},
                ),
                example={
                    "brokerId": "broker_1",
                    "topicId": "my-topic",
                    "partitionId": 0,
                    "consumerId": "worker-1",
                    "offset": 1,
                },
                answers=_answers(
                    record(
                        {
                            "committed": {"const": True},
                            "offset": INTEGER,
                            "topicId": STRING,
                            "partitionId": INTEGER,
                            "consumerId": STRING,
                            "logEndOffset": INTEGER,
                            "newReadOffset": INTEGER,
                            "timestamp": TIME,
                        }
                    ),
                    (400, "not of this shape, or no such offset"),
                    (404, "no such topic or partition"),
                    (409, "a Kafka consumer group of the same name has members"),
                ),
            )
        },
        "/stats": {
            "get": operation("How far every partition is written and read.", answers=_answers(_STATS))
        },
        "/stream/{topicId}": {
            "get": operation(
                "Server-Sent Events: an event for each message, for as long as one listens.",
                parameters=[_TOPIC, _FROM, _PARTITION],
                answers={
                    200: ("events", STRING),
                    400: ("no such place in a stream", _ERROR),
                    403: ("a web page from elsewhere", _ERROR),
                    404: ("no such topic", _ERROR),
                },
                media="text/event-stream",
            )
        },
    },
)
