"""Generated from wire/schema: one module per API."""
