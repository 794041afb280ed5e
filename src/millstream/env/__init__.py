"""The outside world, and nothing else: clock, disk, registry, chance."""
