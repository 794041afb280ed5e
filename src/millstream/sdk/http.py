"""Where the HTTP client comes from."""

try:
    import httpx as httpx
except ImportError as error:
    raise ImportError('the SDK needs httpx: pip install "millstream[sdk]"') from error

# Before these the broker has not seen the request.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
