"""What a broker does for a client, whichever door it came in by."""
