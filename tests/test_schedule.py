"""The order of tests loses none of them, however many workers there are and however few tests."""

import pytest

from schedule import arranged


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_no_test_is_lost_or_doubled(request: pytest.FixtureRequest, workers: int) -> None:
    items = request.session.items
    for some in (items, items[:5], []):
        assert sorted(item.nodeid for item in arranged(some, workers)) == sorted(item.nodeid for item in some)
