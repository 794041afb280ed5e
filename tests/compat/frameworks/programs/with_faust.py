"""Faust: an agent that keeps a table and answers to another topic. bootstrap topic count scratch"""

import asyncio
import os
import signal
import sys
from typing import Any

import faust

bootstrap, topic, count, scratch = sys.argv[1:]
app = faust.App(
    topic,
    broker=f"kafka://{bootstrap}",
    broker_commit_interval=0.2,
    store="memory://",
    topic_partitions=1,
    value_serializer="json",
    web_enabled=False,
    datadir=scratch,
)
numbers = app.topic(topic)
doubled = app.topic(f"{topic}-doubled")
seen = app.Table("seen", default=int)
ends: asyncio.TimerHandle | None = None


@app.agent(numbers)
async def double(stream: Any) -> None:
    global ends
    async for number in stream:
        seen["all"] += 1  # which goes to a changelog topic, and is read from there at the next start
        await doubled.send(value=number * 2, key=str(seen["all"]).encode())
        if ends is not None:
            ends.cancel()
        # Not by *count*: it may take fewer, or some of them twice.
        ends = app.loop.call_later(2, os.kill, os.getpid(), signal.SIGTERM)


faust.Worker(app, loglevel="WARN").execute_from_commandline()
