"""What a client may do, a bit for each of Kafka's operations: everything, as nobody is kept from anything."""

from typing import Final

from millstream.errors import ErrorCode, Refused

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 1 << 9, 1 << 10, 1 << 11, 1 << 12

NOT_TOLD: Final = -(1 << 31)
ON_CLUSTER: Final = (
    _CREATE | _ALTER | _DESCRIBE | _CLUSTER_ACTION | _DESCRIBE_CONFIGS | _ALTER_CONFIGS | _IDEMPOTENT_WRITE
)
ON_TOPIC: Final = _READ | _WRITE | _CREATE | _DELETE | _ALTER | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS


def no_acls() -> Refused:
    """What is said of rules about who may do what, as Kafka says it without an authorizer."""
    return Refused(ErrorCode.SECURITY_DISABLED, "no authorizer is configured: everybody may do everything")
