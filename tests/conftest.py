"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# The machine is shared, and speed is measured in bench/: a slow moment must not fail a property.
settings.register_profile("millstream", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("millstream")
