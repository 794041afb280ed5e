"""Every config that DescribeConfigs lists, of topics and of the broker, has a test that shows its effect."""

from importlib import import_module
from pathlib import Path

from tests.broker.support import SESSION
from tests.configs.showing import SHOWN, Stage, Way

for _path in sorted(Path(__file__).parent.glob("test_*.py")):
    if _path.stem != "test_complete":
        import_module(f"tests.configs.{_path.stem}")


def listed() -> set[str]:
    async def look(stage: Stage) -> set[str]:
        broker = stage.broker
        described = [
            *broker.describe_topic_configs(SESSION, "t"),
            *broker.describe_broker_configs(SESSION),
        ]
        return {each.entry.name for each in described}

    return Way.STARTED.seen(look, {})


def test_every_listed_config_has_a_test_that_shows_its_effect() -> None:
    missing = sorted(listed() - SHOWN.keys())
    assert not missing, f"give these an effect and a test in tests/configs, or do not list them: {missing}"


def test_every_test_is_of_a_config_that_is_listed() -> None:
    assert not sorted(SHOWN.keys() - listed())
