"""The accounts of the bank's tellers: balances and partitions."""

from typing import Final

ACCOUNTS_PER_PARTITION: Final = 2
PARTITIONS: Final = 4
OPENING_BALANCE: Final = 100
TOTAL: Final = ACCOUNTS_PER_PARTITION * PARTITIONS * OPENING_BALANCE


def accounts() -> dict[str, int]:
    """account: its partition"""
    return {f"a{number}": number % PARTITIONS for number in range(ACCOUNTS_PER_PARTITION * PARTITIONS)}
