"""ApiVersions (key 18), versions 0 to 4: what this node serves.

Behaviour
- A version we do not know is answered in version 0 with error 35 and our ranges; the client asks again.
- The name and version a client gives of itself must be well formed.

Versions
- 3   flexible; features, of which clients take it that what belongs to them works
- 4   features that might be off, too: older Java clients do not stand a lowest version of 0
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
    ApiVersionsResponseFinalizedFeature,
    ApiVersionsResponseSupportedFeature,
)

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")
_SOFTWARE_FROM: Final = 3
_ZERO_FROM: Final = 4
_FEATURES: Final = {
    "group.version": 1,
    "transaction.version": 2,
}  # each with the level it is at; 0 would be off


def handle(
    broker: Broker, session: Session, request: ApiVersionsRequest, version: int
) -> ApiVersionsResponse:
    if version >= _SOFTWARE_FROM and not (
        _SOFTWARE.match(request.client_software_name) and _SOFTWARE.match(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=_ranges(),
        supported_features=[
            ApiVersionsResponseSupportedFeature(name=name, min_version=0, max_version=level)
            for name, level in _FEATURES.items()
            if version >= _ZERO_FROM
        ],
        finalized_features_epoch=0,
        finalized_features=[
            ApiVersionsResponseFinalizedFeature(name=name, max_version_level=level, min_version_level=level)
            for name, level in _FEATURES.items()
        ],
    )


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
