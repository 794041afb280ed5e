"""Our own small Kafka client: the CLI, tests, the simulation and replication speak through it."""
