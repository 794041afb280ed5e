"""A cluster in one process: simulated time, network, disk and faults; same seed, same run."""
