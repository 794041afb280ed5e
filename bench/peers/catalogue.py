"""All peers, by the names that the command line takes."""

from typing import Final

from bench.peers.disk import Disk
from bench.peers.floor import Floor
from bench.peers.kafka import Kafka
from bench.peers.millstream import Millstream, MillstreamPlain
from bench.peers.nats import Nats
from bench.peers.peer import Peer
from bench.peers.rabbitmq import RabbitMQ
from bench.peers.redis import Redis

PEERS: Final[dict[str, type[Peer]]] = {
    "millstream": Millstream,
    "plain": MillstreamPlain,
    "floor": Floor,
    "kafka": Kafka,
    "nats": Nats,
    "redis": Redis,
    "rabbitmq": RabbitMQ,
    "disk": Disk,
}
