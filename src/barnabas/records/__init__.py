"""What is in a log: batch views, CRC, compression, records, control records, and what a leader admits. Bytes only."""
