"""One partition's life."""
