"""Requests that a client sends without waiting for answers take effect in the order they were sent (§3.2)."""

from tests.compat.protocol.asking import batch, create, produce
from tests.compat.protocol.line import Line

from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsRequestPartition,
    DeleteRecordsRequestTopic,
    DeleteRecordsResponse,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)

EARLIEST = -2


def test_what_is_asked_behind_a_deletion_sees_it(wire: Line, name: str) -> None:
    create(wire, name)
    produce(wire, name, batch(b"0", b"1", b"2"))
    delete = DeleteRecordsRequest(
        [DeleteRecordsRequestTopic(name, [DeleteRecordsRequestPartition(0, 2)])], 1000
    )
    look = ListOffsetsRequest(
        topics=[ListOffsetsRequestTopic(name, [ListOffsetsRequestPartition(0, timestamp=EARLIEST)])]
    )
    # In one piece, so that the node has both before it begins.
    wire.send_bytes(
        request_frame(RequestHeader(delete.KEY, 2, 1001, "line"), delete)
        + request_frame(RequestHeader(look.KEY, 7, 1002, "line"), look)
    )
    (deleted,) = wire.answer(DeleteRecordsResponse, 2, 1001).topics
    (seen,) = wire.answer(ListOffsetsResponse, 7, 1002).topics
    assert deleted.partitions[0].low_watermark == 2
    assert seen.partitions[0].offset == 2
