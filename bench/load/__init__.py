"""The clients that make load and measure. Each is a function that runs in a process of its own (`bench.children`)."""
