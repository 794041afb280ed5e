"""The doors: each one turns a protocol into calls of the broker."""
