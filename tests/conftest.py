"""What all tests share: no test is judged by how long it took, on a machine that others use too."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("barnabas", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("barnabas")

# A shell ignores SIGINT in what it runs in the background, and a process passes that on: Ctrl-C would reach no child.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
