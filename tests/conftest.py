"""What all tests share: no test is judged by how long it took, on a machine that others use too."""

from hypothesis import HealthCheck, settings

settings.register_profile("barnabas", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("barnabas")
