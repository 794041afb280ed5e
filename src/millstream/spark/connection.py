"""How to reach the cluster: the `kafka.*` options, by the names that Kafka's own clients have for them."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

from millstream.client.addresses import InvalidAddress, parse_addresses
from millstream.client.cluster import Client
from millstream.spark.words import InvalidOption, number, one_of, unknown

BOOTSTRAP: Final = "kafka.bootstrap.servers"
_PROTOCOLS: Final = ("PLAINTEXT", "SSL")
_LEVELS: Final = ("read_uncommitted", "read_committed")

KNOWN: Final = (
    BOOTSTRAP,
    "kafka.client.id",
    "kafka.request.timeout.ms",
    "kafka.security.protocol",
    "kafka.ssl.truststore.location",
    "kafka.ssl.truststore.type",
    "kafka.ssl.keystore.location",
    "kafka.ssl.keystore.type",
    "kafka.ssl.key.password",
    "kafka.ssl.endpoint.identification.algorithm",
)
# What Spark's connector does not let one set either, since it does these things itself.
OURS: Final = {
    "kafka.auto.offset.reset": "startingOffsets says where to begin",
    "kafka.enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "kafka.interceptor.classes": "there are no Java classes here",
    "kafka.key.deserializer": "keys are bytes: use functions of DataFrames",
    "kafka.value.deserializer": "values are bytes: use functions of DataFrames",
    "kafka.key.serializer": "keys are bytes: use functions of DataFrames",
    "kafka.value.serializer": "values are bytes: use functions of DataFrames",
}


@final
@dataclass(frozen=True, kw_only=True)
class Reach:
    """Where the cluster is and how to talk to it. Goes to the executors with each task."""

    bootstrap: str
    client_id: str = "millstream-spark"
    timeout: float = 30.0
    tls: bool = False
    truststore: str | None = None
    keystore: str | None = None
    key_password: str | None = field(default=None, repr=False)
    verify_host: bool = True

    def client(self) -> Client:
        """A client; it belongs to the loop that is running."""
        return Client(
            self.bootstrap,
            client_id=self.client_id,
            ssl=self._context() if self.tls else None,
            timeout=self.timeout,
        )

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.truststore)
        context.check_hostname = self.verify_host
        if self.keystore is not None:
            context.load_cert_chain(self.keystore, password=self.key_password)
        return context


def read_reach(options: Mapping[str, str]) -> Reach:
    """The cluster that *options*, by small names, describe."""
    bootstrap = options.get(BOOTSTRAP)
    if bootstrap is None:
        raise InvalidOption(f"say where the cluster is: option({BOOTSTRAP!r}, 'host:9092')")
    try:
        parse_addresses(bootstrap)
    except InvalidAddress as problem:
        raise InvalidOption(f"{BOOTSTRAP}: {problem}") from None
    for store in ("truststore", "keystore"):
        if f"kafka.ssl.{store}.location" in options:
            one_of(f"kafka.ssl.{store}.type", options.get(f"kafka.ssl.{store}.type", "JKS"), ("PEM",))
    protocol = options.get("kafka.security.protocol", "PLAINTEXT")
    return Reach(
        bootstrap=bootstrap,
        client_id=options.get("kafka.client.id", "millstream-spark"),
        timeout=number("kafka.request.timeout.ms", options.get("kafka.request.timeout.ms", "30000"), 1)
        / 1000,
        tls=one_of("kafka.security.protocol", protocol, _PROTOCOLS) == "SSL",
        truststore=options.get("kafka.ssl.truststore.location"),
        keystore=options.get("kafka.ssl.keystore.location"),
        key_password=options.get("kafka.ssl.key.password"),
        verify_host=options.get("kafka.ssl.endpoint.identification.algorithm", "https") != "",
    )


def read_committed(options: Mapping[str, str]) -> bool:
    """Whether only what is committed is to be read."""
    level = options.get("kafka.isolation.level", "read_uncommitted")
    return one_of("kafka.isolation.level", level, _LEVELS) == "read_committed"


def check_names(options: Mapping[str, str], known: Mapping[str, str], useless: frozenset[str]) -> None:
    """InvalidOption for the first of *options* that is none of *known*, or one that has no use here."""
    for name in sorted(options):
        if name in OURS:
            raise InvalidOption(f"{name} is not for you to set: {OURS[name]}")
        if name not in known and name not in useless:
            raise unknown(name, known.values())
