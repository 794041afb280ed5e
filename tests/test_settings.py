"""Settings: what is read from text is right or refused with a message that helps."""

from dataclasses import dataclass

import pytest

from millstream.settings import InvalidSetting, parse_settings, setting, settings_of


@dataclass(frozen=True, kw_only=True)
class Example:
    size_bytes: int = setting(1024, "A size.", kafka="some.size.bytes", min=16, max=1 << 20)
    ratio: float = setting(0.5, "A ratio.", kafka="some.ratio", min=0, max=1)
    on: bool = setting(True, "A switch.", kafka="some.switch")
    policy: tuple[str, ...] = setting(
        ("delete",), "A list.", kafka="some.policy", choices=("delete", "compact")
    )
    kind: str = setting("a", "A choice.", kafka="some.kind", choices=("a", "b"))


def test_text_becomes_the_settings_own_type() -> None:
    given = {
        "some.size.bytes": " 64 ",
        "some.ratio": "0.25",
        "some.switch": "FALSE",
        "some.policy": "compact, delete",
    }

    assert parse_settings(Example, given) == Example(
        size_bytes=64, ratio=0.25, on=False, policy=("compact", "delete")
    )


def test_what_is_not_given_comes_from_the_base() -> None:
    assert parse_settings(Example, {"some.kind": "b"}, Example(size_bytes=99)) == Example(
        size_bytes=99, kind="b"
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("some.size.bytes", "15", "some.size.bytes must be at least 16, not 15"),
        ("some.size.bytes", "2000000", "some.size.bytes must be at most 1048576, not 2000000"),
        ("some.size.bytes", "big", "some.size.bytes must be a whole number, not 'big'"),
        ("some.size.bytes", True, "some.size.bytes must be a whole number, not True"),
        ("some.ratio", "x", "some.ratio must be a number, not 'x'"),
        ("some.switch", "yes", "some.switch must be true or false, not 'yes'"),
        ("some.policy", "delete,keep", "some.policy must be one of delete, compact, not 'keep'"),
        ("some.kind", "c", "some.kind must be one of a, b, not 'c'"),
        ("some.sizes.bytes", "1", "unknown setting 'some.sizes.bytes'; did you mean 'some.size.bytes'?"),
        ("zzz", "1", "unknown setting 'zzz'"),
    ],
)
def test_a_bad_value_says_what_is_wrong(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        parse_settings(Example, {name: value})
    assert str(error.value) == message


def test_values_are_shown_as_kafkas_tools_write_them() -> None:
    shown = {name: one.show(one.default) for name, one in settings_of(Example).items()}

    assert shown == {
        "some.size.bytes": "1024",
        "some.ratio": "0.5",
        "some.switch": "true",
        "some.policy": "delete",
        "some.kind": "a",
    }
