"""The HTTP doors: the queue API (Panda-Q) and the admin API, each an ASGI application."""
