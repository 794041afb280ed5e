"""One file per API: what it promises, then how the request becomes calls of the broker."""
