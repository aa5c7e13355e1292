"""The clients that make load and measure. Each is a function that runs in its own process (`bench.children`)."""
