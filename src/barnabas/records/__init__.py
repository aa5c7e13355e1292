"""Record batches: headers, CRC, compression, records, control records, and the checks before an append. No I/O."""
