"""Everything in one go: orders, a broker in this process, Spark, an Iceberg table, a topic of totals."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, final

from millstream.client.cluster import Client
from millstream.client.consumer import Consumer
from millstream.client.fetcher import FetchConfig
from millstream.client.offsets import LATEST, list_offsets
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.embedded import Broker
from millstream.pipeline.chart import Bars
from millstream.pipeline.orders import orders
from millstream.pipeline.tables import find_table

MINUTES: Final = 30
_PATIENCE: Final = 60.0
DEFINITION: Final = """\
# What 'millstream pipeline demo' runs: orders into a table, and their totals by the minute into a topic.
pipeline: demo

flows:
  clean:
    from:
      topic: orders
      json: id string not null, product string, amount double, ts timestamp
    expect:
      - amount > 0
    into:
      table: lake.orders

  totals:
    from:
      topic: orders
      json: id string not null, product string, amount double, ts timestamp
      watermark: ts 10 seconds
    sql: |
      SELECT window.start AS minute, round(sum(amount), 2) AS total, count(*) AS orders
      FROM orders
      GROUP BY window(ts, '1 minute')
    into:
      topic: order-totals
      key: minute
"""


@final
@dataclass(frozen=True)
class Sold:
    """One line of the answer to a question to the table."""

    product: str
    orders: int
    total: float


def open_broker(folder: Path) -> Broker:
    """A broker that keeps its topics in *folder*, so that the demo can be run again and go on."""
    broker = Broker(folder, {"flush.policy": "os", "num.partitions": 2, "log.dir.ballast.bytes": 0}).start()
    for name in ("orders", "order-totals"):
        if name not in broker.topics():
            broker.create_topic(name, 2)
    return broker


def send_orders(bootstrap: str, count: int) -> int:
    """Send so many orders, and some broken records, to the topic; how many records in all."""

    async def send() -> int:
        sent = 0
        async with Client(bootstrap) as client, Producer(client) as producer:
            now_ms = int(time.time() * 1000)
            for each in orders(count, now_ms, MINUTES, Random(count)):
                await producer.send("orders", each.value, key=each.key, partition=sent % 2)
                sent += 1
        return sent

    return asyncio.run(send())


def best_sellers(context: Any) -> list[Sold]:
    """A question to the table, asked without Spark: what has sold best?"""
    table = find_table(context, "lake.orders")
    rows = table.scan(selected_fields=("product", "amount")).to_arrow()
    found = rows.group_by("product").aggregate([("amount", "count"), ("amount", "sum")]).to_pylist()
    sold = [Sold(each["product"], each["amount_count"], each["amount_sum"]) for each in found]
    return sorted(sold, key=lambda each: -each.total)


def totals(bootstrap: str) -> Bars:
    """What the topic of totals has, minute by minute."""

    async def read() -> dict[str, float]:
        async with Client(bootstrap) as client:
            topic = await client.topic("order-totals")
            partitions = [TopicPartition(topic.name, each.index) for each in topic.partitions]
            ends = await list_offsets(client, dict.fromkeys(partitions, LATEST), committed_only=True)
            async with Consumer(client, fetch=FetchConfig(committed_only=True)) as consumer:
                consumer.assign(dict.fromkeys(partitions, 0))
                found: dict[str, float] = {}
                async with asyncio.timeout(_PATIENCE):
                    while any(consumer.positions()[at] < (ends[at] or 0) for at in partitions):
                        for record in await consumer.poll(0.5):
                            said = json.loads(record.value or b"{}")
                            found[said["minute"]] = said["total"]
        return found

    found = asyncio.run(read())
    return [(minute[11:16], total) for minute, total in sorted(found.items())]
