"""The cluster as one value, and the rules by which it changes."""
