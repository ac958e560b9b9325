"""§6.7: the static order against ``dask.order.order``, on random and on realistic graphs."""

from __future__ import annotations

import random

import pytest

from spanwise.tests.static_orders import DRAWN, bundle_program, ratios, realistic_graphs

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return bundle_program(tmp_path_factory.mktemp("order"))


@pytest.mark.parametrize("family", DRAWN)
def test_drawn_graphs_hold_no_more_than_in_dasks_order(program, family):
    chance = random.Random(67)
    found = ratios(program, [DRAWN[family](chance) for _ in range(300)])
    assert sum(found) / len(found) < 1.1
    assert max(found) <= 2


def test_realistic_graphs_hold_no_more_than_in_dasks_order(program):
    names, graphs = zip(*realistic_graphs(), strict=True)
    found = dict(zip(names, ratios(program, list(graphs)), strict=True))
    assert sum(found.values()) / len(found) < 1.1, found
    assert max(found.values()) <= 2, found
