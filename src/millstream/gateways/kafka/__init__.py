"""The Kafka door: Kafka's wire protocol, spoken to any client that has it."""
