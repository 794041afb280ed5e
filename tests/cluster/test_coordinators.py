import pytest

from millstream.cluster.coordinators import coordinator_partition


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("", 0),
        ("a", 47),
        ("gröup", 32),
        ("console-consumer-12345", 6),
        ("🦀 crab", 10),  # hashed by UTF-16 units, of which a crab is two
        ("polygenelubricants", 0),  # hashes to -2147483648, which has no absolute value
        ("my-group", 12),
    ],
)
def test_groups_are_where_kafkas_tools_look_for_them(group: str, partition: int) -> None:
    assert coordinator_partition(group, 50) == partition
