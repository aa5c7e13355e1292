"""The cluster's facts: the records they are stored as, the immutable image of them, and what changes between images."""
