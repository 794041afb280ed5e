"""The node's configuration: file, environment, flags, in that rising order."""

from pathlib import Path

import pytest

from millstream.broker.config import BrokerConfig
from millstream.node.config import Address, NodeConfig, from_environment, listeners_of, load
from millstream.settings import InvalidSetting
from millstream.storage.config import LogConfig


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "millstream.toml"
    file.write_text(text)
    return file


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, '"num.partitions" = 2\n"node.id" = 2\n[log]\n"retention.ms" = 2\n')

    live = load(file, {"MILLSTREAM_NODE_ID": "3", "MILLSTREAM_NUM_PARTITIONS": "3"}, {"num.partitions": "4"})

    assert live.get(BrokerConfig).num_partitions == 4
    assert live.get(BrokerConfig).node_id == 3
    assert live.get(LogConfig).retention_ms == 2


def test_kafkas_other_units_are_understood() -> None:
    assert load(None, {"MILLSTREAM_LOG_RETENTION_HOURS": "2"}, {}).get(LogConfig).retention_ms == 7_200_000


def test_kafkas_other_names_are_understood() -> None:
    live = load(None, {}, {"log.dirs": "/data", "broker.id": "7"})
    assert (live.get(NodeConfig).data_dir, live.get(BrokerConfig).node_id) == ("/data", 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"num.partition" = 2', "unknown setting 'num.partition'; did you mean 'num.partitions'?"),
        ('"num.partitions" = 0', "num.partitions must be at least 1, not 0"),
        ("num.partitions = ", "is not TOML"),
        ('listeners = "SSL://127.0.0.1:9093"', "SSL is not served"),
        ('listeners = "127.0.0.1"', "is no address"),
        ('"advertised.listeners" = "a:1,b:2"', "give one each"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message.replace("?", r"\?")):
        load(written(tmp_path, text), {}, {})


def test_a_mistake_says_where_it_was_made() -> None:
    with pytest.raises(InvalidSetting, match=r"^the environment: .*did you mean 'node.id'"):
        load(None, {"MILLSTREAM_NODE_IDS": "1"}, {})
    with pytest.raises(InvalidSetting, match=r"^the command line: "):
        load(None, {}, {"node.id": "x"})


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot read"):
        load(tmp_path / "none.toml", {}, {})


def test_other_variables_are_left_alone() -> None:
    assert from_environment({"PATH": "/bin", "MILLSTREAM_CONFIG": "x", "MILLSTREAM_BROKERS": "y"}) == {}


def test_it_listens_on_this_machine_only_unless_told() -> None:
    (listener,) = listeners_of(NodeConfig())
    assert listener.bind == Address("127.0.0.1", 9092)
    assert listener.advertised is None


def test_addresses_may_be_ipv6_and_advertised_as_others() -> None:
    config = NodeConfig(
        listeners=("PLAINTEXT://[::1]:0", ":9093"), advertised_listeners=("a:1", "PLAINTEXT://b:2")
    )

    first, second = listeners_of(config)

    assert (first.bind, first.advertised) == (Address("::1", 0), Address("a", 1))
    assert (second.bind, second.advertised) == (Address("0.0.0.0", 9093), Address("b", 2))
    assert str(first.bind) == "[::1]:0"
