"""Every line of kafka-compat §4 and §5 that concerns a single node has a test named after its number.

Lines of §4 have no numbers of their own and are counted from its top. A test
is named after its line here (`test_5_3_2_…`); one that is better told
elsewhere says so with the mark `rule` and the line's number.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from millstream.wire.apis import APIS

TESTS: Final = Path(__file__).parents[2]
SCHEMA: Final = TESTS.parent / "src/millstream/wire/schema"

RULES: Final = {
    "4": {
        1: "a topic just made tells its configs",
        2: "lists of replicas in described partitions",
        3: "no quotas",
        4: "no list is null without a meaning",
        5: "one result for each topic, in order",
        6: "aborted transactions",
        7: "no offset committed",
        8: "notes beside offsets",
        9: "offsets without timestamps",
        10: "every config of topics and brokers",
    },
    "5.1": {
        1: "all topics",
        2: "topics made by being named",
        3: "names",
        4: "ids",
        5: "epochs of leaders never fall",
        6: "a topic made again",
        7: "how topics are refused",
        8: "more partitions, and no topic",
        9: "changing configs",
        10: "defaults",
    },
    "5.2": {
        1: "acks",
        2: "one good batch",
        3: "what the broker stamps",
        4: "too large",
        5: "which records were wrong",
        6: "compression",
        7: "what the answer tells",
        8: "each partition by itself",
        9: "the high watermark",
    },
    "5.3": {
        1: "within a batch",
        2: "outside of the log",
        3: "how far a reader sees",
        4: "how much",
        5: "waiting",
        6: "sessions",
        7: "epochs of leaders",
        8: "logs that differ",
        9: "topic ids",
        10: "other replicas",
        11: "bytes as they came",
        12: "gaps and markers",
    },
    "5.4": {1: "start and end", 2: "by time", 4: "where an epoch ended"},
    "5.5": {
        1: "what is known of a producer",
        2: "duplicates",
        3: "epochs and sequences",
        4: "restart",
        5: "ids",
        6: "compacted topics",
    },
    "5.6": {
        1: "who writes under an id",
        2: "what older clients are told",
        3: "joining partitions",
        4: "ends",
        5: "joining by writing",
        6: "outside of the transaction",
        7: "in or out",
        8: "time runs out",
        9: "markers",
        10: "readers of committed records",
        11: "offsets",
        12: "what operators see",
    },
    "5.7": {
        1: "coordinators",
        2: "states, and the first delay",
        3: "member ids",
        4: "limits",
        5: "protocols",
        6: "joining",
        7: "joining again",
        8: "sync",
        9: "heartbeats",
        10: "commits",
        11: "static members",
        12: "cooperation",
        13: "the last one out",
        14: "groups seen from outside",
        15: "what is not ours to read",
    },
    "5.8": {
        1: "coming, staying, going",
        2: "what has not changed",
        3: "refusals",
        4: "partitions change hands",
        5: "offsets",
        6: "patterns, configs and the older protocol",
    },
    "5.10": {1: "retention", 2: "deleting records", 3: "compaction", 4: "recovery"},
    "5.11": {5: "partitions that are to move"},
    "5.12": {3: "access control, of which there is none", 4: "quotas"},
    "5.13": {0: "telemetry"},
    "5.14": {0: "the broker's own topics"},
}

NOT_HERE: Final = {
    "5.4.3": "an election, of which one node has none",
    "5.4.5": "a leader that changes, which one node's does not",
    "5.9": "share groups are not served",
    "5.11": "the rest of replication, which takes two",
    "5.12.1": "SASL is not served",
    "5.12.2": "nor are its mechanisms",
}

NULL_LISTS: Final = {
    ("create_topics", "configs"): "4.1",
    ("describe_topic_partitions", "eligible_leader_replicas"): "4.2",
    ("describe_topic_partitions", "last_known_elr"): "4.2",
    ("describe_client_quotas", "entries"): "4.3",
    ("fetch", "aborted_transactions"): "4.6",
}
"""Lists of responses that could be null, and the line that says when."""

_NAMED = re.compile(r"def test_(4_\d+|5_13|5_14|5_\d+_\d+)_")
_MARKED = re.compile(r"mark\.rule\(\"([\d.]+)\"\)")
_NULL_LIST = re.compile(r"^ +(\w+): \[\w+\]\?")
_NOT_SERVED = {
    "5.9": {76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92},
    "5.12.1": {17, 36},
    "5.12.2": {38, 39, 40, 41, 51},
}
_TELEMETRY = {71, 72}


def listed() -> set[str]:
    return {f"{part}.{line}" if line else part for part, lines in RULES.items() for line in lines}


def shown() -> Iterator[str]:
    """The lines that tests are named after, or marked with."""
    for path in sorted((TESTS / "compat/protocol").glob("test_*.py")):
        yield from (number.replace("_", ".") for number in _NAMED.findall(path.read_text()))
    for path in sorted(TESTS.glob("**/test_*.py")):
        yield from _MARKED.findall(path.read_text())


def test_every_line_has_a_test() -> None:
    assert sorted(listed() - set(shown())) == []


def test_every_test_is_of_a_line_that_is_listed() -> None:
    assert sorted(set(shown()) - listed()) == []


def test_what_is_left_out_is_not_served() -> None:
    """Once it is, its lines must move up among those that are tested."""
    assert not any({*_NOT_SERVED[line]} & APIS.keys() for line in _NOT_SERVED)
    assert not listed() & NOT_HERE.keys()


def test_5_13_who_is_not_served_telemetry_does_not_send_any() -> None:
    assert not _TELEMETRY & APIS.keys()


def test_4_4_every_list_that_could_be_null_is_known() -> None:
    found = set()
    for path in sorted(SCHEMA.glob("*.txt")):
        _, _, response = path.read_text().partition("\nresponse\n")
        found |= {(path.stem, name) for line in response.splitlines() for name in _NULL_LIST.findall(line)}
    assert found == NULL_LISTS.keys()
    assert set(NULL_LISTS.values()) <= listed()
