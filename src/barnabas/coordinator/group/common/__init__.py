"""What the types of groups have in common."""
