"""Millstream: event streaming that installs with pip and speaks the Kafka protocol."""
