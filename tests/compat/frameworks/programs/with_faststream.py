"""FastStream: a subscriber in a group whose answers are published. bootstrap topic count scratch"""

import asyncio
import sys

from faststream import AckPolicy, FastStream
from faststream.confluent import KafkaBroker

bootstrap, topic, count, _ = sys.argv[1:]
broker = KafkaBroker(bootstrap)
app = FastStream(broker)
left = int(count)


@broker.subscriber(topic, group_id=topic, auto_offset_reset="earliest", ack_policy=AckPolicy.ACK)
async def double(number: int) -> None:
    global left
    await broker.publish(number * 2, f"{topic}-doubled")
    left -= 1
    if not left:
        app.exit()


asyncio.run(app.run())
