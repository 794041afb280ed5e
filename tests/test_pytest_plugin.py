"""The pytest plugin, as the suites of its users load it."""

import pytest

pytest_plugins = ["pytester"]

_CLIENT = """
import asyncio

from millstream.client.cluster import Client
from millstream.client.producer import Producer


def write(broker, topic, value, **options):
    async def story():
        async with Client(broker.bootstrap_servers, timeout=60) as client:
            async with Producer(client, delivery_timeout=60) as producer:
                return (await producer.deliver(topic, value)).offset

    return asyncio.run(story())
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(client=_CLIENT)
    pytester.syspathinsert()
    return pytester


def test_each_test_has_a_topic_of_its_own_on_one_broker(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest
        from client import write

        seen = []

        @pytest.mark.parametrize("n", range(5))
        def test_topic(n, kafka_broker, kafka_topic):
            seen.append((kafka_broker.bootstrap_servers, kafka_topic))
            assert kafka_topic.startswith(f"test_topic-{n}")
            assert kafka_broker.topics() == [kafka_topic], "what other tests had is gone"
            assert write(kafka_broker, kafka_topic, b"a") == 0

        def test_afterwards(kafka_broker):
            assert len({broker for broker, _ in seen}) == 1
            assert len({topic for _, topic in seen}) == 5
            kafka_broker.create_topic("later")
            assert kafka_broker.topics() == ["later"]
        """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=6)


def test_a_marker_says_how_the_topic_is_made(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import asyncio

        import pytest
        from millstream.client.admin import Admin
        from millstream.client.cluster import Client

        @pytest.mark.kafka_topic(partitions=3, configs={"retention.ms": 5000})
        def test_topic(kafka_broker, kafka_topic):
            async def story():
                async with Client(kafka_broker.bootstrap_servers) as client:
                    topic = await client.topic(kafka_topic)
                    return len(topic.partitions), await Admin(client).topic_configs(kafka_topic)

            count, configs = asyncio.run(story())
            assert count == 3
            assert {each.name: each.value for each in configs}["retention.ms"] == "5000"

        def test_that_deletes_it_itself(kafka_broker, kafka_topic):
            kafka_broker.delete_topic(kafka_topic)
        """
    )
    suite.runpytest_inprocess("--strict-markers").assert_outcomes(passed=2)


def test_settings_come_from_pytests_own(suite: pytest.Pytester) -> None:
    suite.makeini(
        "[pytest]\nkafka_broker_settings =\n    num.partitions = 4\n    auto.create.topics.enable=false"
    )
    suite.makepyfile(
        """
        def test_settings(kafka_broker_settings, kafka_broker):
            assert kafka_broker_settings == {"num.partitions": "4", "auto.create.topics.enable": "false"}
        """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=1)

    suite.makeini("[pytest]\nkafka_broker_settings = num.partition = 4")
    result = suite.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*did you mean 'num.partitions'*"])


def test_settings_can_be_overridden_as_any_fixture(suite: pytest.Pytester) -> None:
    suite.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def kafka_broker_settings():
            return {"message.max.bytes": 1000}
        """
    )
    suite.makepyfile(
        """
        import pytest
        from client import write
        from millstream.errors import Refused

        def test_settings(kafka_broker, kafka_topic):
            with pytest.raises(Refused, match="TOO_LARGE"):
                write(kafka_broker, kafka_topic, bytes(2000))
        """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=1)


def test_faults_end_with_their_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest
        from client import write
        from millstream.errors import Refused

        def test_that_fails(kafka_broker, kafka_topic, kafka_faults):
            kafka_faults.fail_produces(None, "TOPIC_AUTHORIZATION_FAILED")
            kafka_faults.fill_disk()
            with pytest.raises(Refused, match="AUTHORIZATION"):
                write(kafka_broker, kafka_topic, b"a")

        def test_after_it(kafka_broker, kafka_topic):
            assert write(kafka_broker, kafka_topic, b"a") == 0
        """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=2)


def test_brokers_of_a_tests_own_are_stopped_after_it(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest
        from millstream.embedded import NotRunning

        started = []

        def test_two(kafka_broker_factory, tmp_path):
            one = kafka_broker_factory(num_partitions=2)
            other = kafka_broker_factory(tmp_path / "data")
            started.extend([one, other])
            assert one.bootstrap_servers != other.bootstrap_servers

        def test_after_it():
            assert len(started) == 2
            for broker in started:
                with pytest.raises(NotRunning):
                    broker.topics()
        """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=2)


def test_nothing_is_imported_until_a_fixture_is_used(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import sys

        def test_nothing():
            ours = [name for name in sys.modules if name.startswith("millstream")]
            assert sorted(ours) == ["millstream", "millstream.pytest_plugin"]
        """
    )
    suite.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.slow
def test_every_xdist_worker_has_a_broker_of_its_own(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import os

        import pytest
        from client import write

        @pytest.mark.parametrize("n", range(30))
        def test_topic(n, kafka_broker, kafka_topic):
            assert kafka_broker.topics() == [kafka_topic]
            assert write(kafka_broker, kafka_topic, b"a") == 0
            with open(f"worker-{os.environ['PYTEST_XDIST_WORKER']}", "w") as file:
                file.write(kafka_broker.bootstrap_servers)
        """
    )
    suite.runpytest_subprocess("-n", "2").assert_outcomes(passed=30)
    addresses = {path.read_text() for path in suite.path.glob("worker-*")}

    assert len(addresses) == len(list(suite.path.glob("worker-*"))) == 2
