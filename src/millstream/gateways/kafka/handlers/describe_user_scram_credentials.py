"""DescribeUserScramCredentials (key 50), version 0: users who have a password, and how it is kept.

Behaviour
- No password is kept here: asked for all users, the answer is empty; who is named is not found.
- `kafka-configs --entity-type users` asks this before it shows a user's quotas.
"""

from collections import Counter

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode
from millstream.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResponseResult,
)


def handle(
    broker: Broker, session: Session, request: DescribeUserScramCredentialsRequest, version: int
) -> DescribeUserScramCredentialsResponse:
    asked = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_nobody(name, count) for name, count in asked.items()]
    )


def _nobody(name: str, count: int) -> DescribeUserScramCredentialsResponseResult:
    if count > 1:
        code, detail = ErrorCode.DUPLICATE_RESOURCE, f"user {name!r} is named twice in this request"
    else:
        code, detail = ErrorCode.RESOURCE_NOT_FOUND, f"user {name!r} has no password here"
    return DescribeUserScramCredentialsResponseResult(name, code, detail)
