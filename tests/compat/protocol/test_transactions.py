"""Transactions: kafka-compat §5.6, by its numbers."""

from collections.abc import Callable

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import batch, create, fetch, fetching, part, produce, producing, records
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.writer import NEWER, OLDER, Writer, committed, offsets_of

from millstream.errors import ErrorCode
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.control import Marker, read_marker
from millstream.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnRequestTransaction,
    AddPartitionsToTxnRequestTransactionTopic,
    AddPartitionsToTxnResponse,
)
from millstream.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersRequestTopic,
    DescribeProducersResponse,
)
from millstream.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsResponseState,
)
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from millstream.wire.messages.produce import ProduceResponse
from millstream.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersRequestMarker,
    WriteTxnMarkersRequestTopic,
    WriteTxnMarkersResponse,
)

NONE = ErrorCode.NONE
both = pytest.mark.parametrize("newer", [OLDER, NEWER], ids=["older", "newer"])


@pytest.fixture
def write(wire: Line, name: str) -> Callable[[bool], Writer]:
    """Makes a producer that has begun to write under the test's name."""

    def make(newer: bool) -> Writer:
        writer = Writer(wire, name, newer)
        writer.begin_at_last()
        return writer

    return make


def described(wire: Line, id: str) -> DescribeTransactionsResponseState:
    (found,) = wire.ask(DescribeTransactionsRequest([id]), DescribeTransactionsResponse, 0).transaction_states
    return found


def test_the_newer_generation_is_announced(wire: Line) -> None:
    answer = wire.ask(ApiVersionsRequest("test", "1"), ApiVersionsResponse, 4)
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    assert levels["transaction.version"] == 2


def test_transactions_have_a_coordinator(wire: Line, name: str) -> None:
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    (found,) = wire.ask(request, FindCoordinatorResponse, 4).coordinators
    assert (found.error_code, found.node_id) == (0, 1) or found.error_code == 0


@pytest.mark.parametrize("version", range(6))
def test_5_6_1_ids_and_timeouts_are_checked(wire: Line, name: str, version: int) -> None:
    assert Writer(wire, "", OLDER).begin(version=version) is ErrorCode.INVALID_REQUEST
    writer = Writer(wire, name, OLDER)
    for timeout_ms in (0, -1, 900_001):
        assert writer.begin(timeout_ms, version=version) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert writer.begin(900_000, version=version) is NONE
    assert writer.epoch == 0


def test_5_6_1_every_beginning_raises_the_epoch(wire: Line, name: str) -> None:
    writer = Writer(wire, name, OLDER)
    ids = set()
    for epoch in range(4):
        assert writer.begin() is NONE
        assert writer.epoch == epoch
        ids.add(writer.producer_id)
    assert len(ids) == 1


def test_5_6_1_who_says_who_it_was_must_be_right(wire: Line, name: str) -> None:
    writer = Writer(wire, name, OLDER)
    writer.begin()
    assert writer.begin(again=True) is NONE
    assert writer.epoch == 1
    writer.epoch = 7
    assert writer.begin(again=True) is ErrorCode.PRODUCER_FENCED
    assert writer.begin(again=True, version=3) is ErrorCode.INVALID_PRODUCER_EPOCH
    writer.epoch = -1
    assert writer.begin(again=True) is ErrorCode.INVALID_REQUEST


@both
def test_5_6_1_a_second_producer_aborts_and_locks_out_the_first(
    wire: Line, name: str, write: Callable[[bool], Writer], newer: bool
) -> None:
    create(wire, name)
    first = write(newer)
    first.write(name, b"lost")
    second = Writer(wire, name, newer)
    assert second.begin() is ErrorCode.CONCURRENT_TRANSACTIONS
    second.begin_at_last()
    assert second.epoch > first.epoch
    assert first.send(name, b"late") in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
    assert first.commit() is ErrorCode.PRODUCER_FENCED
    second.write(name, b"kept")
    assert second.commit() is NONE
    assert committed(wire, name)[0] == [b"kept"]


def test_5_6_2_old_versions_are_told_of_an_epoch(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name)
    writer = write(OLDER)
    write(OLDER)
    for version, code in ((0, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)):
        assert writer.join(name, 0, version=version) == [code]
        assert writer.join_offsets(name, version) is code
        assert writer.commit(version) is code


def test_5_6_3_who_may_add_partitions(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name, 2)
    writer = write(OLDER)
    unknown, waits = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert writer.join(name, 0, 9, 1) == [waits, unknown, waits]
    assert described(wire, name).transaction_state == "Empty"
    assert writer.join(name, 0, 1) == [NONE, NONE]
    state = described(wire, name)
    assert (state.transaction_state, [(each.topic, each.partitions) for each in state.topics]) == (
        "Ongoing",
        [(name, [0, 1])],
    )
    writer.producer_id += 1
    assert writer.join(name, 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert writer.join_offsets(name) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    writer.id = "nobody"
    assert writer.join(name, 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]


def test_5_6_4_ends_of_the_older_generation(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name)
    writer = write(OLDER)
    assert writer.commit() is ErrorCode.INVALID_TXN_STATE
    assert writer.abort() is ErrorCode.INVALID_TXN_STATE
    writer.write(name, b"a")
    assert [writer.commit(), writer.commit(), writer.abort()] == [NONE, NONE, ErrorCode.INVALID_TXN_STATE]
    writer.write(name, b"b")
    assert [writer.abort(), writer.abort(), writer.commit()] == [NONE, NONE, ErrorCode.INVALID_TXN_STATE]
    assert writer.epoch == 0
    assert committed(wire, name) == ([b"a"], 4)


def test_5_6_4_ends_of_the_newer_generation(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name)
    writer = write(NEWER)
    assert writer.commit() is ErrorCode.INVALID_TXN_STATE
    assert writer.abort() is NONE
    assert writer.epoch == 1
    writer.write(name, b"a")
    assert writer.commit() is NONE
    assert writer.epoch == 2
    writer.epoch = 1  # as one that has not heard the answer
    assert writer.abort() is ErrorCode.INVALID_TXN_STATE
    assert writer.commit() is NONE
    assert writer.epoch == 2
    writer.epoch = 0
    assert writer.commit() is ErrorCode.PRODUCER_FENCED
    assert committed(wire, name) == ([b"a"], 2)


def test_5_6_5_partitions_join_by_being_written_to(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name, 3)
    writer = write(NEWER)
    assert writer.send(name, b"a", partition=2) is NONE
    assert [(each.topic, each.partitions) for each in described(wire, name).topics] == [(name, [2])]
    assert writer.send(name, b"b", partition=0) is NONE
    assert [each.partitions for each in described(wire, name).topics] == [[0, 2]]
    assert writer.commit() is NONE
    assert [committed(wire, name, index)[0] for index in range(3)] == [[b"b"], [], [b"a"]]


def test_5_6_5_a_late_write_never_enters_the_next_transaction(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name)
    writer = write(NEWER)
    writer.write(name, b"a")
    late = Writer(wire, name, NEWER)
    late.producer_id, late.epoch, late.sequences = writer.producer_id, writer.epoch, dict(writer.sequences)
    assert writer.commit() is NONE
    assert late.send(name, b"late") is ErrorCode.INVALID_PRODUCER_EPOCH
    writer.write(name, b"b")
    assert late.send(name, b"late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert writer.commit() is NONE
    assert committed(wire, name)[0] == [b"a", b"b"]


def test_5_6_6_what_is_not_in_the_transaction_is_refused(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name, 2)
    writer = write(OLDER)
    writer.write(name, b"a")
    assert writer.send(name, b"b", partition=1, version=9) is ErrorCode.INVALID_TXN_STATE
    assert writer.send(name, b"b", partition=1, version=11) is ErrorCode.TRANSACTION_ABORTABLE
    assert writer.commit() is NONE
    assert writer.send(name, b"late", version=9) is ErrorCode.INVALID_TXN_STATE
    assert committed(wire, name, 1) == ([], 0)


def test_5_6_6_nor_is_anything_transactional_outside(wire: Line, name: str) -> None:
    create(wire, name)
    stranger = Writer(wire, name, NEWER)
    stranger.producer_id, stranger.epoch = 5, 0
    assert stranger.send(name, b"x") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_5_6_7_a_producer_is_in_or_out(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name)
    writer = write(OLDER)
    writer.write(name, b"a")
    outside = batch(b"x", producer=(writer.producer_id, writer.epoch, 1))
    assert produce(wire, name, outside).error_code == ErrorCode.INVALID_TXN_STATE


def test_5_6_8_time_runs_out(name: str, mortal_in_haste: Node) -> None:
    with line(mortal_in_haste) as wire:
        create(wire, name)
        writer = Writer(wire, name, OLDER)
        assert writer.begin(timeout_ms=100) is NONE
        writer.write(name, b"late")
        assert produce(wire, name, batch(b"plain")).error_code == 0
        assert committed(wire, name) == ([], 0)
        waiting = fetching(name, part(), wait_ms=30_000, isolation=1)
        (found,) = fetch(wire, waiting)  # answered as soon as the transaction is aborted
        assert found.last_stable_offset == 3
        assert committed(wire, name)[0] == [b"plain"]
        assert writer.commit() is ErrorCode.PRODUCER_FENCED
        assert described(wire, name).transaction_state == "CompleteAbort"


@both
def test_5_6_9_markers_are_kafkas(
    wire: Line, node: Node, name: str, write: Callable[[bool], Writer], newer: bool
) -> None:
    create(wire, name)
    writer = write(newer)
    epochs = []
    for commit in (True, False):
        writer.write(name, b"a", b"b")
        epochs.append(writer.epoch + newer)
        assert writer.end(commit) is NONE
    markers = [each for each in node.batches(name) if each.is_control]
    assert [read_marker(each) for each in markers] == [(Marker.COMMIT, 0), (Marker.ABORT, 0)]
    assert [each.base_offset for each in markers] == [2, 5]
    assert [each.producer_epoch for each in markers] == epochs
    assert all(each.is_transactional and each.base_sequence == -1 for each in markers)


def test_5_6_9_markers_that_come_from_the_past_or_for_nothing(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name)
    writer = write(OLDER)
    writer.write(name, b"a")

    def mark(producer_id: int, epoch: int, coordinator_epoch: int) -> int:
        topics = [WriteTxnMarkersRequestTopic(name, [0])]
        marker = WriteTxnMarkersRequestMarker(
            producer_id, epoch, False, topics, coordinator_epoch=coordinator_epoch
        )
        (answer,) = wire.ask(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, 1).markers
        return answer.topics[0].partitions[0].error_code

    assert mark(writer.producer_id + 1_000_000, 0, 0) == 0
    (found,) = fetch(wire, fetching(name, part(), isolation=1))
    assert (found.last_stable_offset, found.aborted_transactions) == (0, [])
    assert mark(writer.producer_id, writer.epoch, 3) == 0
    assert committed(wire, name)[0] == []
    assert mark(writer.producer_id, writer.epoch, 2) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


@both
def test_5_6_10_readers_of_committed_records(
    wire: Line, name: str, write: Callable[[bool], Writer], newer: bool
) -> None:
    create(wire, name)
    writer = write(newer)
    writer.write(name, b"a")
    assert produce(wire, name, batch(b"plain")).error_code == 0
    assert committed(wire, name) == ([], 0)
    (all,) = fetch(wire, fetching(name, part()))
    assert all.aborted_transactions is None
    assert len(list(split(records(all)))) == 2
    assert writer.commit() is NONE
    assert committed(wire, name) == ([b"a", b"plain"], 3)
    writer.write(name, b"never")
    assert writer.abort() is NONE
    writer.write(name, b"b")
    assert committed(wire, name) == ([b"a", b"plain"], 5)
    assert writer.commit() is NONE
    assert committed(wire, name) == ([b"a", b"plain", b"b"], 7)


@both
def test_5_6_11_offsets_are_committed_with_the_rest(
    wire: Line, name: str, write: Callable[[bool], Writer], newer: bool
) -> None:
    create(wire, name, 2)
    writer = write(newer)
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    if not newer:
        assert writer.commit_offsets(name, name, {0: 5}) == [ErrorCode.TRANSACTION_ABORTABLE]
        assert writer.join_offsets(name) is NONE
    assert writer.commit_offsets(name, name, {0: 5, 9: 1}) == [NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert writer.commit_offsets(name, name, {0: 6}) == [NONE]
    assert offsets_of(wire, name, name, [0, 1], stable=True) == [(unstable, -1), (NONE, -1)]
    assert offsets_of(wire, name, name, [0, 1], stable=False) == [(NONE, -1), (NONE, -1)]
    assert writer.commit() is NONE
    assert offsets_of(wire, name, name, [0], stable=True) == [(NONE, 6)]
    if not newer:
        assert writer.join_offsets(name) is NONE
    assert writer.commit_offsets(name, name, {0: 99}) == [NONE]
    assert writer.abort() is NONE
    assert offsets_of(wire, name, name, [0], stable=True) == [(NONE, 6)]


def test_5_6_11_a_member_that_is_none_cannot_commit(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name)
    writer = write(NEWER)
    refused = writer.commit_offsets(name, name, {0: 5}, member=("stranger", 3))
    assert refused == [ErrorCode.ILLEGAL_GENERATION]
    assert writer.abort() is NONE


@pytest.mark.parametrize("end", [Node.stop, Node.kill], ids=["stop", "kill"])
@both
def test_all_of_it_is_there_after_a_restart(
    mortal: Node, name: str, end: Callable[[Node], None], newer: bool
) -> None:
    with line(mortal) as wire:
        create(wire, name, 2)
        writer = Writer(wire, name, newer)
        writer.begin_at_last()
        writer.write(name, b"a")
        assert writer.commit() is NONE
        writer.write(name, b"never")
        assert writer.abort() is NONE
        writer.write(name, b"b")
        if not newer:
            assert writer.join_offsets(name) is NONE
        assert writer.commit_offsets(name, name, {0: 7}) == [NONE]
        open_from = committed(wire, name)[1]
    end(mortal)
    mortal.start()
    with line(mortal) as wire:
        writer.wire = wire
        while described(wire, name).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            pass
        assert described(wire, name).transaction_state == "Ongoing"
        assert committed(wire, name) == ([b"a"], open_from)
        while (found := offsets_of(wire, name, name, [0], stable=True)) == []:
            pass
        assert found == [(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)]
        writer.write(name, b"c")
        assert writer.commit() is NONE
        assert committed(wire, name)[0] == [b"a", b"b", b"c"]
        assert offsets_of(wire, name, name, [0], stable=True) == [(NONE, 7)]


def test_5_6_12_what_operators_see(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name)
    assert described(wire, "nobody").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    writer = write(OLDER)
    assert described(wire, name).transaction_state == "Empty"
    writer.write(name, b"a")
    state = described(wire, name)
    assert (state.producer_id, state.producer_epoch) == (writer.producer_id, writer.epoch)
    assert state.transaction_timeout_ms == 60_000
    assert state.transaction_start_time_ms > 0

    def listed(request: ListTransactionsRequest) -> list[str]:
        answer = wire.ask(request, ListTransactionsResponse, 2)
        assert answer.error_code == 0
        return [each.transaction_state for each in answer.transaction_states if each.transactional_id == name]

    assert listed(ListTransactionsRequest()) == ["Ongoing"]
    assert listed(ListTransactionsRequest(state_filters=["Ongoing"])) == ["Ongoing"]
    assert listed(ListTransactionsRequest(state_filters=["Empty"])) == []
    assert listed(ListTransactionsRequest(producer_id_filters=[writer.producer_id])) == ["Ongoing"]
    assert listed(ListTransactionsRequest(producer_id_filters=[writer.producer_id + 99])) == []
    assert listed(ListTransactionsRequest(duration_filter=3_600_000)) == []
    assert listed(ListTransactionsRequest(transactional_id_pattern=f"{name[:5]}.*")) == ["Ongoing"]
    assert listed(ListTransactionsRequest(transactional_id_pattern="x.*")) == []
    odd = wire.ask(ListTransactionsRequest(state_filters=["Odd"]), ListTransactionsResponse, 2)
    assert odd.unknown_state_filters == ["Odd"]
    bad = wire.ask(ListTransactionsRequest(transactional_id_pattern="("), ListTransactionsResponse, 2)
    assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert writer.commit() is NONE
    assert described(wire, name).transaction_state == "CompleteCommit"


def test_an_operator_ends_what_hangs(wire: Line, name: str, write: Callable[[bool], Writer]) -> None:
    create(wire, name)
    writer = write(OLDER)
    writer.write(name, b"a")
    topics = [DescribeProducersRequestTopic(name, [0, 1])]
    (found,) = wire.ask(DescribeProducersRequest(topics), DescribeProducersResponse, 0).topics
    here, missing = found.partitions
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (active,) = here.active_producers
    assert (active.producer_id, active.producer_epoch) == (writer.producer_id, writer.epoch)
    assert (active.last_sequence, active.current_txn_start_offset) == (0, 0)
    marker = WriteTxnMarkersRequestMarker(
        active.producer_id,
        active.producer_epoch,
        False,
        [WriteTxnMarkersRequestTopic(name, [0, 1])],
        coordinator_epoch=0,
    )
    (answer,) = wire.ask(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, 1).markers
    (result,) = answer.topics
    assert [each.error_code for each in result.partitions] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert committed(wire, name) == ([], 2)
    marker.producer_epoch -= 1
    (answer,) = wire.ask(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, 1).markers
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_brokers_may_ask_for_many_transactions(
    wire: Line, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name, 2)
    writer = write(OLDER)
    assert writer.join(name, 0) == [NONE]

    def ask(verify_only: bool, version: int) -> list[int]:
        transaction = AddPartitionsToTxnRequestTransaction(
            name,
            writer.producer_id,
            writer.epoch,
            verify_only,
            [AddPartitionsToTxnRequestTransactionTopic(name, [0, 1])],
        )
        request = AddPartitionsToTxnRequest(transactions=[transaction])
        (result,) = wire.ask(request, AddPartitionsToTxnResponse, version).results_by_transaction
        return [each.partition_error_code for each in result.topic_results[0].results_by_partition]

    assert ask(True, 4) == [0, ErrorCode.INVALID_TXN_STATE]
    assert ask(True, 5) == [0, ErrorCode.TRANSACTION_ABORTABLE]
    assert ask(False, 5) == [0, 0]
    assert ask(True, 5) == [0, 0]


def test_what_is_sent_in_one_go_is_written_in_order(
    wire: Line, node: Node, name: str, write: Callable[[bool], Writer]
) -> None:
    """The first to a partition waits until that has joined; those behind it must not overtake it."""
    create(wire, name, 2)
    writer = write(NEWER)
    sent = []
    for number in range(20):
        index = number % 2
        batch = build(
            [NewRecord(None, b"%d" % number)],
            now_ms=1,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            base_sequence=number // 2,
            transactional=True,
        )
        request = producing(name, {index: bytes(batch)})
        request.transactional_id = name
        sent.append(wire.send(request, 12))
    plain = wire.send(ApiVersionsRequest("test", "1"), 4)
    for correlation_id in sent:
        (topic,) = wire.answer(ProduceResponse, 12, correlation_id).responses
        assert [each.error_code for each in topic.partition_responses] == [0]
    assert wire.answer(ApiVersionsResponse, 4, plain).error_code == 0
    assert writer.commit() is NONE
    for index in range(2):
        assert committed(wire, name, index)[0] == [b"%d" % number for number in range(index, 20, 2)]


def test_a_client_that_leaves_while_its_partition_joins_harms_nobody(
    wire: Line, node: Node, name: str, write: Callable[[bool], Writer]
) -> None:
    create(wire, name)
    writer = write(NEWER)
    batch = build(
        [NewRecord(None, b"left")],
        now_ms=1,
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        base_sequence=0,
        transactional=True,
    )
    request = producing(name, {0: bytes(batch)})
    request.transactional_id = name
    with line(node) as gone:
        gone.send(request, 12)
    while described(wire, name).transaction_state != "Ongoing":
        pass
    writer.begin_at_last()
    writer.write(name, b"kept")
    assert writer.commit() is NONE
    assert committed(wire, name)[0] == [b"kept"]
