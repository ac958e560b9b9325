"""The static order against ``dask.order.order``, on drawn and on realistic graphs (§6.7)."""

from __future__ import annotations

from collections import defaultdict

import pytest

from spanwise.tests.static_orders import DRAWN, Compared, bundle_program, compare_under


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    """2,100 drawn graphs and 24 realistic ones in processes of five hash seeds."""
    program = bundle_program(tmp_path_factory.mktemp("order"))
    return compare_under(program, range(1, 6), common=10, own=58)


@pytest.mark.slow
def test_orders_hold_no_more_than_dasks(compared: list[Compared]) -> None:
    families = defaultdict(list)
    for each in compared:
        ratio = each.ours / each.dasks
        family = each.name.rstrip(" 0123456789")
        families[family if family in DRAWN else "arrays, dataframes, bags"].append(ratio)
        assert ratio <= 2, each
    for family, ratios in families.items():
        assert sum(ratios) / len(ratios) <= 1.1, family
    assert len({each.digest for each in compared}) > 2_000


@pytest.mark.slow
def test_orders_are_the_same_under_each_hash_seed(compared: list[Compared]) -> None:
    """Dask itself makes other graphs of two collections; equal graphs have equal orders."""
    peaks = defaultdict(set)
    for each in compared:
        peaks[each.digest].add(each.ours)
    assert [held for held in peaks.values() if len(held) > 1] == []
    digests = defaultdict(set)
    for each in compared:
        if "fused" in each.name:
            digests[each.name].add(each.digest)
    assert sum(len(found) == 1 for found in digests.values()) >= len(digests) - 2
