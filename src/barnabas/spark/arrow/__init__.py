"""Record batches to Arrow and back, column by column."""
