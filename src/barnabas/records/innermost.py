"""The innermost loops over batches and records, compiled where `_compiled.c` was built, in Python elsewhere.

Building is optional (`tools/build_compiled.py`). Whether it was built makes no difference to what the broker accepts:
what is not accepted here takes the long way, which accepts more and says why it refuses something.
"""

try:
    from barnabas.records._compiled import ordinary_header, plain_records, records_fill, seek_batch
except ImportError:
    from barnabas.records.innermost_plain import ordinary_header, plain_records, records_fill, seek_batch

__all__ = ["ordinary_header", "plain_records", "records_fill", "seek_batch"]
