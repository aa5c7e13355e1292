"""The summary line of `barnabas group describe`."""

import pytest

from barnabas.cli.group_view import GroupView, PartitionView


def partition(committed: int | None, end: int | None) -> PartitionView:
    lag = None if committed is None or end is None else end - committed
    return PartitionView("t", 0, committed=committed, end=end, lag=lag, member=None, client=None, host=None)


@pytest.mark.parametrize(
    ("partitions", "words", "lag"),
    [
        ([partition(4, 10), partition(1, 1)], "lag 6", 6),
        ([partition(4, 10), partition(None, 50)], "lag 6, nothing committed in 1 partition", 6),
        ([partition(None, 50), partition(None, 0)], "nothing committed", None),
        ([], "nothing committed", None),
        ([partition(4, None)], "lag unknown", None),
    ],
)
def test_the_headline_claims_no_lag_that_is_not_known(
    partitions: list[PartitionView], words: str, lag: int | None
) -> None:
    view = GroupView("g", "classic", "stable", "range", 1, 2, partitions)
    assert view.headline() == f"Group g: stable, 2 members, assignor range, {words}"
    assert view.as_object()["lag"] == lag
