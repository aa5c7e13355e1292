"""Replays much more history than the demo, beside a live version: `python -m demo.large`."""
