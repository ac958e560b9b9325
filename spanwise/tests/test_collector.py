"""While a graph is made, the collector looks for garbage less often, and as before afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from spanwise.graph.collector import _Rarely, rare_collections


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_setting_comes_back_also_after_an_error() -> None:
    gc.set_threshold(701, 11, 12)
    with rare_collections():
        first, *others = gc.get_threshold()
        assert first > 10_000
        assert (others[0], gc.isenabled()) == (11, True)
    with pytest.raises(ValueError, match="inside"), rare_collections():
        raise ValueError("inside")
    assert gc.get_threshold()[:2] == (701, 11)


def test_a_program_that_has_it_rarer_or_never_keeps_that() -> None:
    for first in (0, 1_000_000):
        gc.set_threshold(first, 10, 10)
        with rare_collections():
            assert gc.get_threshold()[0] == first
        assert gc.get_threshold()[0] == first


def test_what_the_program_sets_meanwhile_stays() -> None:
    with rare_collections():
        gc.set_threshold(800, 10, 10)
    assert gc.get_threshold()[0] == 800


def test_threads_that_overlap_set_it_back_once() -> None:
    gc.set_threshold(701, 10, 10)
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with rare_collections():
            entered.set()
            leave.wait(60)

    with rare_collections():
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
    assert gc.get_threshold()[0] > 10_000
    leave.set()
    thread.join(60)
    assert gc.get_threshold()[0] == 701


def test_nobody_makes_graphs_in_the_beginning() -> None:
    gc.set_threshold(701, 10, 10)
    rarely = _Rarely()
    rarely.begin()
    assert gc.get_threshold()[0] > 10_000
    rarely.end()
    assert gc.get_threshold()[0] == 701


def test_garbage_goes_meanwhile() -> None:
    class Circle:
        gone = 0

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            Circle.gone += 1

    with rare_collections():
        for _ in range(200_000):
            Circle()
        assert Circle.gone > 100_000
