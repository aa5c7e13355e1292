"""What consumer groups of KIP-848 and share groups have in common: members with epochs, and a target assignment."""
