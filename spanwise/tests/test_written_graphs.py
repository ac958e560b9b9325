"""What is remembered of graphs that Dask has made and nobody has run yet."""

from __future__ import annotations

import gc
import threading
import weakref

import dask

from spanwise.graph.observe_get import written_graphs
from spanwise.graph.spans import span


def test_a_graph_that_never_ran_is_forgotten_with_the_last_observer() -> None:
    written = written_graphs()
    made: list[weakref.ref[object]] = []
    go, noted = threading.Event(), threading.Event()

    def make() -> None:
        with span("A"):
            value = dask.delayed(len)([1, 2])
        # As dask.compute() does, but for the run.
        dict(dask.optimize(value)[0].__dask_graph__())
        dask.base.collections_to_expr([value]).__dask_graph__()
        assert written._here.newest.noted is not None
        made.append(weakref.ref(written._here.newest.noted[0]))
        noted.set()
        assert go.wait(60)

    written.begin()
    written.begin()
    thread = threading.Thread(target=make)
    thread.start()
    try:
        assert noted.wait(60)
        written.end()
        gc.collect()
        assert made[0]() is not None, "somebody observes still"
        written.end()
        gc.collect()
        assert made[0]() is None
    finally:
        go.set()
        thread.join(60)
