"""The cluster metadata: its records, the immutable image built from them, the changes between images, configs."""
