"""A broker that breaks its word about transactions, on purpose, is found out."""

from typing import Any

import pytest
from tests.sim.test_node import caught

from millstream.broker.markers import Markers
from millstream.broker.transactions import Transactions
from millstream.groups.group import Group
from millstream.groups.offsets import Offsets
from millstream.partition.partition import Partition
from millstream.records.control import Marker
from millstream.sim.plan import PAYMENTS
from millstream.storage.producers import Producers
from millstream.transactions.transaction import Place, Transaction

pytestmark = pytest.mark.slow


def test_one_that_does_not_tell_what_was_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "aborted", lambda self, start, end: [])

    assert "aborted-read" in caught((), tries=3)


def test_one_that_shows_what_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "limit", lambda self, committed_only: self.high_watermark)

    assert "early-read" in caught((), tries=5)


def test_one_that_commits_in_some_partitions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(self: Markers, place: Place, marker: Marker, *args: Any) -> Any:
        wrong = place == Place(PAYMENTS, 1)
        return known(self, place, Marker.ABORT if wrong else marker, *args)

    known = Markers.append
    monkeypatch.setattr(Markers, "append", append)

    assert caught((), tries=3) >= {"torn-transaction", "lost-transaction"}


def test_one_that_forgets_what_was_ending_when_it_died(monkeypatch: pytest.MonkeyPatch) -> None:
    def finish(self: Transactions, held: Any) -> None:
        if held.partition in self._loaded:
            known(self, held)

    known = Transactions._finish
    monkeypatch.setattr(Transactions, "_finish", finish)

    assert caught(("kill", "slow-disk"), tries=20) & {"unavailable", "not-processed"}


@pytest.mark.long
def test_one_that_lets_transactions_last_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch_time(self: Transactions) -> None:
        """Time does not pass."""

    monkeypatch.setattr(Transactions, "_watch_time", watch_time)

    assert "unavailable" in caught(("churn",))


def test_one_that_lets_zombies_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transaction, "check_writer", lambda self, by: None)
    monkeypatch.setattr(Producers, "check", lambda self, batch: None)

    assert caught(("churn", "pause"), tries=20) & {"aborted-read", "early-read", "twice-processed"}


@pytest.mark.long
def test_one_that_drops_the_offsets_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Offsets.settle
    monkeypatch.setattr(
        Offsets, "settle", lambda self, producer_id, committed: known(self, producer_id, False)
    )

    assert "twice-processed" in caught(("churn",))


@pytest.mark.long
def test_one_that_keeps_the_offsets_of_what_was_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Offsets.settle
    monkeypatch.setattr(
        Offsets, "settle", lambda self, producer_id, committed: known(self, producer_id, True)
    )

    assert "not-processed" in caught(("churn", "kill"), tries=20)


@pytest.mark.long
def test_one_that_lets_the_dispossessed_commit_in_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "_check_commit", lambda self, commit: None)

    assert caught(("pause",), tries=25) & {"twice-processed", "zombie-commit", "lost-commit"}
