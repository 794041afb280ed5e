"""CRC-32C, the checksum of record batches, by the processor's own instruction where it has one."""

from collections.abc import Callable
from typing import Final

import crc32c as _library

from millstream.env.disk import Buffer

crc32c: Final[Callable[[Buffer], int]] = _library.crc32c
assert crc32c(b"123456789") == 0xE3069283  # the check value every description of CRC-32C gives
