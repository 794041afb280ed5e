"""ApiVersions (key 18), versions 0 to 4: what this node serves.

Behaviour
- A version we do not know is answered in version 0 with error 35 and our ranges; the client asks again.
- The name and version a client gives of itself must be well formed.
"""

import re
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode
from millstream.gateways.kafka.served import served
from millstream.wire.apis import APIS
from millstream.wire.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ApiVersionsResponseApiKey,
)

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")
_SOFTWARE_FROM: Final = 3


def handle(
    broker: Broker, session: Session, request: ApiVersionsRequest, version: int
) -> ApiVersionsResponse:
    if version >= _SOFTWARE_FROM and not (
        _SOFTWARE.match(request.client_software_name) and _SOFTWARE.match(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(api_keys=_ranges())


def unknown_version() -> ApiVersionsResponse:
    """The answer, in version 0, to a version of ApiVersions itself that we do not know."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_ranges())


def _ranges() -> list[ApiVersionsResponseApiKey]:
    return [
        ApiVersionsResponseApiKey(
            api_key=key, min_version=APIS[key].advertised_min, max_version=APIS[key].max
        )
        for key in served()
    ]
