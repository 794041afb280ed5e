"""Celery: tasks sent to a worker through Kafka, results in files. bootstrap topic count scratch"""

import os
import signal
import sys
import threading

from celery import Celery

bootstrap, topic, count, scratch = sys.argv[1:]
app = Celery("doubling", broker=f"confluentkafka://{bootstrap}", backend=f"file://{scratch}")
app.conf.update(
    task_default_queue=topic,
    task_acks_late=True,
    worker_enable_remote_control=False,  # wants fanout, which this transport has not
    worker_prefetch_multiplier=1,
    broker_transport_options={"wait_time_seconds": 1, "kafka_consumer_config": {"fetch.wait.max.ms": 100}},
)


@app.task
def double(number: int) -> int:
    return number * 2


def ask() -> None:
    """As an application would. Its place is another process, so a worker's own thread must insist."""
    sent = [double.delay(number) for number in range(int(count))]
    got = [each.get(timeout=40, interval=0.1, disable_sync_subtasks=False) for each in sent]
    assert got == [number * 2 for number in range(int(count))], got
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=ask, daemon=True).start()
quiet = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}  # fanout again
app.Worker(pool="solo", loglevel="WARNING", **quiet).start()
