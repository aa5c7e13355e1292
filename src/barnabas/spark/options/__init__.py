"""What a user may say to the source and the sink, checked before anything runs."""
