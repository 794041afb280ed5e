"""Queues: per-message delivery over a log."""
