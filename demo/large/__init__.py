"""A replay of much more history than the demo has, beside a version that is live: `python -m demo.large`."""
