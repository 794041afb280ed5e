"""Lines of text over TCP: K-Queue's protocol."""
