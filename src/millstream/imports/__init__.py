"""What other brokers left on disk, read into topics."""
