"""Fetch sessions: what a client is told, and when it must start anew."""

from random import Random

import pytest

from millstream.broker.fetch import Found
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.fetch_sessions import FetchSession, FetchSessions, Remembered
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)


def request(id: int, epoch: int, *partitions: int, forget: tuple[int, ...] = ()) -> FetchRequest:
    return FetchRequest(
        session_id=id,
        session_epoch=epoch,
        topics=[FetchRequestTopic("t", partitions=[FetchRequestPartition(index) for index in partitions])],
        forgotten_topics_data=[FetchRequestForgottenTopic("t", partitions=list(forget))],
    )


def begun(sessions: FetchSessions, *partitions: int) -> FetchSession:
    session = sessions.begin(request(0, 0, *partitions), False, 0.0)
    assert session is not None
    return session


def indexes(session: FetchSession) -> list[int]:
    return [place[2] for place in session.partitions]


def test_a_session_remembers_adds_and_forgets() -> None:
    sessions = FetchSessions(10, Random(1))
    id = begun(sessions, 0, 1).id

    session = sessions.begin(request(id, 1, 2, forget=(0,)), False, 1.0)
    assert session is not None
    assert indexes(session) == [1, 2]


def test_epochs_must_follow_each_other_and_wrap_to_one() -> None:
    sessions = FetchSessions(10, Random(1))
    session = begun(sessions, 0)

    for epoch in (1, 2, 3):
        assert sessions.begin(request(session.id, epoch), False, 0.0) is session
    with pytest.raises(Refused) as wrong:
        sessions.begin(request(session.id, 3), False, 0.0)
    assert wrong.value.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH

    session.epoch = 2**31 - 1
    sessions.begin(request(session.id, 2**31 - 1), False, 0.0)
    assert session.epoch == 1


def test_an_unknown_session_and_a_mix_of_names_and_ids_are_refused() -> None:
    sessions = FetchSessions(10, Random(1))
    session = begun(sessions, 0)

    with pytest.raises(Refused) as unknown:
        sessions.begin(request(session.id ^ 1, 1), False, 0.0)
    with pytest.raises(Refused) as mixed:
        sessions.begin(request(session.id, 1), True, 0.0)
    assert unknown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert mixed.value.code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_closes_a_session_and_epoch_zero_replaces_it() -> None:
    sessions = FetchSessions(10, Random(1))
    first = begun(sessions, 0)
    assert sessions.begin(request(first.id, -1), False, 0.0) is None
    assert len(sessions) == 0

    second = begun(sessions, 0)
    third = sessions.begin(request(second.id, 0, 1), False, 0.0)
    assert third is not None
    assert (len(sessions), indexes(third)) == (1, [1])


def test_when_all_slots_are_taken_only_a_long_unused_session_makes_room() -> None:
    sessions = FetchSessions(2, Random(1))
    old, kept = begun(sessions, 0), begun(sessions, 1)

    assert sessions.begin(request(0, 0, 2), False, 60.0) is None
    assert sessions.begin(request(kept.id, 1), False, 60.0) is kept
    assert sessions.begin(request(0, 0, 2), False, 121.0) is not None
    with pytest.raises(Refused):
        sessions.begin(request(old.id, 1), False, 121.0)


def test_no_slots_means_no_sessions() -> None:
    assert FetchSessions(0, Random(1)).begin(request(0, 0, 1), False, 0.0) is None


def test_a_partition_that_was_fed_goes_to_the_back() -> None:
    session = begun(FetchSessions(10, Random(1)), 0, 1, 2)

    session.served([("t", bytes(16), 0)])

    assert indexes(session) == [1, 2, 0]


def test_only_news_is_told_and_an_error_is_followed_by_news() -> None:
    remembered = Remembered(FetchRequestPartition())
    quiet = Found(high_watermark=7, start_offset=0)
    assert remembered.is_news(quiet)
    remembered.told(quiet)
    assert not remembered.is_news(quiet)
    assert remembered.is_news(Found(high_watermark=8, start_offset=0))
    assert remembered.is_news(Found(high_watermark=7, start_offset=3))

    failed = Found(ErrorCode.KAFKA_STORAGE_ERROR, high_watermark=7)
    assert remembered.is_news(failed)
    remembered.told(failed)
    assert remembered.is_news(quiet)
