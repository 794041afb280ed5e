"""Kafka's language: bytes to messages and back."""
