"""Checks that read_committed readers always see the same total of the accounts.

A teller moves money between two accounts, in different partitions, in one transaction, and writes both new balances. A
record is `teller/number/account/balance`; the first transaction of a teller writes all accounts. Readers get the two
halves of a transfer at different times, so the total is checked after each transfer that a reader has seen completely,
in the order of the transfers, up to the first that it has seen only in part.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.events import Poll
from barnabas.testing.checker.facts import Facts

Transfers = dict[int, dict[str, int]]
"""number: account: balance"""


class Entry(NamedTuple):
    teller: str
    number: int
    account: str
    balance: int

    @classmethod
    def parse(cls, value: str) -> "Entry":
        teller, number, account, balance = value.split("/")
        return cls(teller, int(number), account, int(balance))

    def __str__(self) -> str:
        return f"{self.teller}/{self.number}/{self.account}/{self.balance}"


def wrong_totals(facts: Facts) -> Iterator[Anomaly]:
    total = facts.header.bank_total
    if not total:
        return
    views: dict[tuple[str, str], Transfers] = defaultdict(lambda: defaultdict(dict))
    """(reader, teller): the transfers of the teller that the reader has seen"""
    entries = {value: Entry.parse(value) for value in facts.written}
    sizes = Counter((entry.teller, entry.number) for entry in entries.values())
    for event in facts.events:
        if isinstance(event, Poll) and facts.isolation.get(event.p) == "read_committed":
            for records in event.records.values():
                for _, value in records:
                    entry = entries.get(value) or Entry.parse(value)
                    views[event.p, entry.teller][entry.number][entry.account] = entry.balance
    for (reader, teller), transfers in views.items():
        yield from _check(reader, teller, transfers, sizes, total)


def _check(
    reader: str, teller: str, transfers: Transfers, sizes: Counter[tuple[str, int]], total: int
) -> Iterator[Anomaly]:
    balances: dict[str, int] = {}
    for number in sorted(transfers):
        if len(transfers[number]) < sizes[teller, number]:
            return  # seen in part
        balances.update(transfers[number])
        if sum(balances.values()) != total:
            what = f"{reader} sees {sum(balances.values())} with {teller} after transfer {number}, not {total}"
            evidence = {"reader": reader, "transfer": number, "wrote": transfers[number], "balances": dict(balances)}
            yield Anomaly(Kind.WRONG_TOTAL, teller, what, evidence)
            return
