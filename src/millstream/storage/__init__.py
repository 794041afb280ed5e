"""A log on a disk: segments, their indexes, and how all of it comes back after a power cut."""
