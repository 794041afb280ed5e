"""Quix Streams: a dataframe with state, exactly once. bootstrap topic count scratch"""

import sys
from typing import Any

from quixstreams import Application, State

bootstrap, topic, count, scratch = sys.argv[1:]
app = Application(
    broker_address=bootstrap,
    consumer_group=topic,
    auto_offset_reset="earliest",
    processing_guarantee="exactly-once",
    commit_interval=0.2,
    state_dir=scratch,
    loglevel="WARNING",
)


def double(number: Any, state: State) -> int:
    state.set("seen", state.get("seen", 0) + 1)  # in RocksDB, and in a changelog topic
    return int(number) * 2


numbers = app.topic(topic, value_deserializer="json", key_deserializer="bytes")
doubled = app.topic(f"{topic}-doubled", value_serializer="json", key_serializer="bytes")
app.dataframe(numbers).apply(double, stateful=True).to_topic(doubled)
app.run(count=int(count), timeout=40)
