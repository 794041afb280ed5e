"""Transactions: which producer writes under which name, where, and how each of its transactions ends."""
