"""The `millstream` command: noun, verb, and exit codes that mean something."""
