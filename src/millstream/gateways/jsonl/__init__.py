"""JSON lines over TCP: TinyMQ's protocol."""
