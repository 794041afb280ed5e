"""What is done to a client's batch where looking at its header is not enough.

Most topics never need this: it unpacks, which costs more than all the rest of
an append. Compacted topics do, for the keys, and so do those that set limits
to timestamps or ask for a codec of their own.
"""

import struct
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import CHECKED_FROM, CODEC_BITS, HEADER_SIZE, Batch
from millstream.records.build import seal
from millstream.records.compression import Codec, bounded_decompress, compress
from millstream.records.read import Record, read

_MAX_RECORD_ERRORS: Final = 1000  # enough to see what is wrong, and a reply of bounded size
_ATTRIBUTES: Final = struct.Struct(">h")


@final
class InvalidRecords(Refused):
    """Some records of a batch will not do; *record_errors* says which, by index, and why.

    The whole batch is refused. Long lists are cut: the rest is wrong in the same way.
    """

    def __init__(self, code: ErrorCode, detail: str, record_errors: tuple[tuple[int, str], ...]) -> None:
        super().__init__(code, detail)
        self.record_errors = record_errors


def verify_records(batch: Batch, *, max_bytes: int, need_keys: bool) -> list[Record]:
    """The records of a batch from a client, each at the next offset and, if *need_keys*, with a key.

    They are given back since whoever asks mostly has more to ask of them.
    """
    records = read(batch, max_bytes=max_bytes)
    offset = batch.base_offset
    for record in records:
        if record.offset != offset:
            index = offset - batch.base_offset
            detail = f"record {index} has offset delta {record.offset - batch.base_offset}"
            raise InvalidRecords(ErrorCode.INVALID_RECORD, detail, ((index, detail),))
        offset += 1
    if need_keys:
        _check_keys(records)
    return records


def recompress(batch: Batch, codec: Codec, max_bytes: int) -> bytearray:
    """*batch* with its records packed by *codec*, and everything else as it was.

    The records, which may unpack to *max_bytes*, are not looked at; whoever
    has them from a client lets `verify_records` see them first.
    """
    records = bounded_decompress(batch.codec, batch.data[HEADER_SIZE:], max_bytes)
    out = bytearray(batch.data[:HEADER_SIZE])
    out += compress(codec, records)
    _ATTRIBUTES.pack_into(out, CHECKED_FROM, batch.attributes & ~CODEC_BITS | codec)
    seal(out, batch.base_offset, batch.leader_epoch)
    return out


def _check_keys(records: list[Record]) -> None:
    keyless = [index for index, record in enumerate(records) if record.key is None]
    if keyless:
        raise InvalidRecords(
            ErrorCode.INVALID_RECORD,
            f"{len(keyless)} of {len(records)} records have no key, which a compacted topic needs",
            tuple((index, "a compacted topic needs a key") for index in keyless[:_MAX_RECORD_ERRORS]),
        )
