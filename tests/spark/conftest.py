"""One broker and one local Spark for all tests here."""

import asyncio
import importlib.util
import json
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.support.server import Server
from tests.support.spark_cluster import SparkCluster

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.spark.workers import worker_python


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"flush.policy": "os", "log.dir.ballast.bytes": 0}
    with Server(tmp_path_factory.mktemp("broker"), settings) as server:
        yield server


@pytest.fixture(scope="session")
def spark_is_there() -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer, and there is no java on the PATH")
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip('pyspark is not installed: pip install "millstream[spark]"')


@pytest.fixture(scope="session")
def spark(spark_is_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", worker_python(home))
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", "1g")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.warehouse.dir", str(home / "warehouse"))
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")  # errors are raised as well; the tests look at those
        yield session
        session.stop()


@pytest.fixture(scope="session")
def spark_cluster(spark_is_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster"), cores=2) as cluster:
        yield cluster


class Topics:
    """Fills and trims topics of a broker, from code that does not await."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def do(self, call: Callable[[Client], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            async with Client(self.bootstrap) as client:
                return await call(client)

        return asyncio.run(run())

    def create(self, name: str, partitions: int = 1, **configs: str) -> str:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        self.do(lambda client: Admin(client).create_topic(name, partitions=partitions, configs=named))
        return name

    def recreate(self, name: str, partitions: int = 1) -> str:
        """An empty topic, whether or not there was one of that name."""

        async def delete(client: Client) -> None:
            if name in (await client.metadata(None)).topics:
                await Admin(client).delete_topic(name)

        self.do(delete)
        return self.create(name, partitions)

    def send(self, name: str, values: Iterable[object], partitions: int = 2) -> None:
        """Send *values*, as JSON unless they are bytes, to each partition in turn."""

        async def send(client: Client) -> None:
            async with Producer(client) as producer:
                for n, each in enumerate(values):
                    value = each if isinstance(each, bytes) else json.dumps(each).encode()
                    await producer.send(name, value, key=b"%d" % n, partition=n % partitions)

        self.do(send)

    def fill(self, name: str, count: int, *, first: int = 0, partitions: int = 1, **options: Any) -> None:
        """Values `first`, `first + 1`, …, to each partition in turn."""

        async def send(client: Client) -> None:
            async with Producer(client, **options) as producer:
                for n in range(first, first + count):
                    await producer.send(name, b"%d" % n, key=b"key %d" % n, partition=n % partitions)

        self.do(send)


@pytest.fixture(scope="session")
def topics(broker: Server) -> Topics:
    return Topics(broker.bootstrap)
