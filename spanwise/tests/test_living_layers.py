"""Counting living layers of equal name, in any order of coming and going."""

from __future__ import annotations

import gc
import threading
from typing import Any

from dask.highlevelgraph import MaterializedLayer
from hypothesis import given
from hypothesis import strategies as st

from spanwise.graph.living_layers import LivingLayers, Tags
from spanwise.tests.work import Compared, lines_of

steps = st.lists(
    st.tuples(
        st.sampled_from(["x", "y"]), st.sampled_from([None, ("A",), ("A", "B")]), st.booleans()
    ),
    max_size=40,
)


@given(steps)
def test_a_name_is_shared_while_layers_of_different_tags_are_alive(
    steps: list[tuple[str, Tags, bool]],
) -> None:
    living = LivingLayers()
    held: list[tuple[str, Tags, Any]] = []
    for name, tags, comes in steps:
        if comes:
            layer = MaterializedLayer({})
            living.add(name, layer, tags)
            held.append((name, tags, layer))
            del layer
        elif held:
            del held[0]
        for each in "xy":
            assert living.count(each) == sum(other == each for other, *_ in held)
            different = {tags for other, tags, _ in held if other == each}
            assert living.is_shared(each) == (len(different) > 1)
        assert living.shared_names == sum(map(living.is_shared, "xy"))


def work(count: int) -> int:
    """Lines run and tags compared or hashed while so many equal layers come and go."""
    living = LivingLayers()
    layers = [MaterializedLayer({}) for _ in range(count)]

    def come_and_go() -> None:
        for layer in layers:
            # Equal and not the same: each comparison is one.
            living.add("x", layer, Compared(("A",)))
        del layer
        assert living.count("x") == count
        layers.clear()

    before = Compared.times
    lines = lines_of(come_and_go)
    assert living.count("x") == 0
    return lines + Compared.times - before


def test_ten_times_as_many_equal_layers_cost_ten_times_as_much() -> None:
    few, many = work(100), work(1_000)
    assert few > 100
    # A test that looked at the others would do 100 times as much.
    assert many <= 11 * few


def test_nothing_is_lost_when_layers_end_in_the_middle_of_changes() -> None:
    living = LivingLayers()
    failed: list[BaseException] = []

    def come_and_go(tags: Tags) -> None:
        try:
            for number in range(2_000):
                layer: Any = MaterializedLayer({})
                layer.itself = layer  # ends in a garbage collection: anywhere, in any thread
                living.add("x", layer, tags)
                if number % 3:
                    del layer.itself
        except BaseException as error:  # noqa: BLE001 (told by the main thread)
            failed.append(error)

    threshold = gc.get_threshold()
    gc.set_threshold(5)
    try:
        threads = [threading.Thread(target=come_and_go, args=((tag,),)) for tag in "ABCD"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert not failed
    assert living.count("x") == 0 and not living.is_shared("x")
    assert not living._awaited and not living._counts


def test_a_layer_that_ends_in_the_middle_of_a_change_waits_for_nobody() -> None:
    """The change may be the same thread's, which would wait for itself."""
    living = LivingLayers()
    held = [MaterializedLayer({})]
    living.add("x", held[0], ("A",))
    ended = threading.Event()

    def end() -> None:
        held.clear()
        ended.set()

    thread = threading.Thread(target=end)
    with living._lock:
        thread.start()
        assert ended.wait(60)
        assert living.count("x") == 1
    thread.join(60)
    other = MaterializedLayer({})
    living.add("y", other, None)
    assert living.count("x") == 0 and living.count("y") == 1
