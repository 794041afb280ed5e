"""CRC-32C, the checksum of record batches."""

from collections.abc import Callable
from typing import Final

from millstream import crc
from millstream.env.disk import Buffer

crc32c: Final[Callable[[Buffer], int]] = crc.crc32c
