"""The same code once more, in the same Python: as the cells of a notebook that runs again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import distributed
import pandas as pd
import pytest
from dask.dataframe.dask_expr import new_collection
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize

import spanwise
from spanwise.client import living_expressions
from spanwise.graph.private_dask import DataNode, Expr
from spanwise.shared.values import pack_value
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

ROUNDS = 2


@contextmanager
def their_client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def our_client() -> Any:
    return spanwise.Client(n_workers=1, threads_per_worker=1)


_cluster: spanwise.LocalCluster | None = None


@pytest.fixture(scope="module", autouse=True)
def _one_cluster() -> Iterator[None]:
    """For clients of ours: to import pandas takes each worker a second of a core."""
    global _cluster
    with spanwise.LocalCluster(n_workers=1, threads_per_worker=1) as made:
        _cluster = made
        yield
    _cluster = None


@contextmanager
def our_new_client() -> Iterator[spanwise.Client]:
    """A client of the one cluster, of which it has no keys and leaves no names."""
    with spanwise.Client(_cluster) as client:
        yield client
        for name in client.list_datasets():
            client.unpublish_dataset(name)
        spanwise.Variable("kept", client=client).delete()


def part(number: int) -> pd.DataFrame:
    return pd.DataFrame({"a": range(number, number + 3)})


def frame() -> Any:
    return dd.from_map(part, range(3), meta=part(0))


def increment(x: int) -> int:
    return x + 1


#: A collection, and a value of what was persisted of it.
CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "dataframe": (frame, lambda kept: int((kept.a + 1).sum().compute())),
    "array": (lambda: da.arange(9, chunks=3) + 1, lambda kept: int((kept + 1).sum().compute())),
    "bag": (
        lambda: db.from_sequence(range(9), npartitions=3).map(increment),
        lambda kept: int(kept.map(increment).sum().compute()),
    ),
}
#: What came of each: 0+1+2, 1+2+3, 2+3+4 and one for each row; 0 to 8, and two for each.
VALUES = {"dataframe": 18 + 9, "array": 36 + 18, "bag": 36 + 18}


def values_of(client: Any, kept: dict[str, Any]) -> dict[str, int]:
    """What is computed on collections, once they have been persisted and none waits for it."""
    package = spanwise if isinstance(client, spanwise.Client) else distributed
    found = {}
    for name, (make, value_of) in CASES.items():
        kept[name] = make().persist()
        futures = package.futures_of(kept[name])
        package.wait(futures, LIMIT_SECONDS)
        assert {(each.client is client, each.status) for each in futures} == {(True, "finished")}
        found[name] = value_of(kept[name])
    return found


@pytest.mark.parametrize("make_client", [our_client, their_client])
def test_a_script_whose_client_is_a_new_one_each_time(make_client: Callable[[], Any]) -> None:
    # As in a notebook, what a round has made stays until the next one replaces it.
    kept: dict[str, Any] = {}
    for _ in range(ROUNDS):
        with make_client() as client:
            assert values_of(client, kept) == VALUES


@pytest.mark.parametrize("end", ["cancel", "restart"])
def test_what_is_persisted_once_more(end: str) -> None:
    # (theirs gives the values too, but where it is late to cancel what came before)
    # (what restarts has a cluster of its own)
    with our_new_client() if end == "cancel" else our_client() as client:
        kept: dict[str, Any] = {}
        for _ in range(ROUNDS):
            assert values_of(client, kept) == VALUES
            if end == "cancel":
                client.cancel(list(kept.values()))
            else:
                client.restart()


@pytest.mark.parametrize("make_client", [our_new_client, their_client])
def test_what_is_persisted_again_when_it_was_released(make_client: Callable[[], Any]) -> None:
    """At once, before anybody is told of it; what holds the released futures is still there."""
    with make_client() as client:
        package = spanwise if isinstance(client, spanwise.Client) else distributed
        for name, (make, value_of) in CASES.items():
            first = make().persist()
            package.wait(first, LIMIT_SECONDS)
            kept = [first]
            for _ in range(ROUNDS):
                released = package.futures_of(kept[-1])
                for each in released:
                    each.release()
                kept.append(make().persist())
                futures = package.futures_of(kept[-1])
                assert {each.status for each in futures} <= {"pending", "finished"}
                assert not {*map(id, released)} & {*map(id, futures)}
                assert value_of(kept[-1]) == VALUES[name]


@pytest.mark.parametrize("make_client", [our_new_client, their_client])
def test_what_is_persisted_twice_is_held_twice(make_client: Callable[[], Any]) -> None:
    """Whichever of the two is released, the other goes on, and what was made of it."""
    with make_client() as client:
        package = spanwise if isinstance(client, spanwise.Client) else distributed
        for name, (make, value_of) in CASES.items():
            for released, other in [(0, 1), (1, 0)]:
                source = make()
                kept = [source.persist(), source.persist()]
                package.wait(kept, LIMIT_SECONDS)
                futures = [package.futures_of(each) for each in kept]
                assert not {*map(id, futures[0])} & {*map(id, futures[1])}, name
                made = [value_of(each) for each in kept]
                for each in futures[released]:
                    each.release()
                if package is spanwise:  # (theirs stay what they were)
                    assert {each.status for each in futures[released]} == {"cancelled"}
                # (what nobody holds is let go of meanwhile)
                wait_until_released(client)
                assert {each.status for each in futures[other]} == {"finished"}
                assert [*made, value_of(kept[other])] == [VALUES[name]] * 3


def wait_until_released(client: Any) -> None:
    """A later task is known to be forgotten: what was released before it is, too."""
    last = client.submit(increment, 17)
    last.result(LIMIT_SECONDS)
    key = last.key
    last.release()

    def is_forgotten() -> bool:
        return key not in client.who_has()

    wait_until("the last is let go of", is_forgotten)


def by_dataset(client: Any, value: Any) -> Callable[[], Any]:
    client.publish_dataset(value, name="kept")
    return lambda: client.get_dataset("kept")


def by_variable(client: Any, value: Any) -> Callable[[], Any]:
    variable = spanwise.Variable("kept", client=client)
    variable.set(value)
    return variable.get


@pytest.mark.parametrize("pause", [0, 0.5], ids=["at once", "once they are let go of"])
@pytest.mark.parametrize(
    ("make_client", "share"),
    [(our_new_client, by_dataset), (their_client, by_dataset), (our_new_client, by_variable)],
)
def test_what_comes_back_when_it_was_released(
    make_client: Callable[[], Any], share: Callable[[Any, Any], Callable[[], Any]], pause: float
) -> None:
    """While what holds the released futures is there, and what was made of it."""
    with make_client() as client:
        package = spanwise if isinstance(client, spanwise.Client) else distributed
        kept = frame().persist()
        package.wait(kept, LIMIT_SECONDS)
        more = kept.a + 1
        get = share(client, [kept, more])
        released = package.futures_of(kept)
        for each in released:
            each.release()
        time.sleep(pause)
        found, found_more = get()
        if package is spanwise:  # (theirs finds tasks by the keys of released futures)
            for one in (found, found.a + 1, found_more):
                futures = package.futures_of(one)
                assert len(futures) == len(released)
                assert not {*map(id, released)} & {*map(id, futures)}
                assert {each.status for each in futures} <= {"pending", "finished"}
        time.sleep(pause)  # what nobody holds is let go of
        assert int((found.a + 1).sum().compute()) == VALUES["dataframe"]
        assert int(found_more.sum().compute()) == VALUES["dataframe"]


def test_what_is_made_of_a_collection_once_it_was_released() -> None:
    """And stays there when the same is made of one that came back."""
    with our_new_client() as client:
        kept = frame().persist()
        get = by_dataset(client, kept)
        released = spanwise.futures_of(kept)
        for each in released:
            each.release()
        tokenize(get())
        late = kept.a + 1
        futures = spanwise.futures_of(get().a + 1)
        assert len(futures) == len(released) == len(spanwise.futures_of(late))
        assert not {*map(id, released)} & {*map(id, futures)}


class Broken:
    """A collection that fails when its graph is asked for."""

    def __dask_graph__(self) -> Any:
        raise ValueError("no graph")

    def __dask_tokenize__(self) -> str:
        return "broken"


class Table(HighLevelGraph):
    """A graph of layers: no dict."""

    def __init__(self, **values: Any) -> None:
        super().__init__({"values": values}, {"values": set()})
        self.values_by_name = values

    def __dask_tokenize__(self) -> Any:
        return [*self.values_by_name.items()]


class Bucket(Mapping[str, Any]):
    """Whose values are files, which nobody has asked for."""

    def __getitem__(self, name: str) -> Any:
        raise AssertionError("read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("read")

    def __len__(self) -> int:
        return 1

    def __dask_tokenize__(self) -> str:
        return "bucket"


def first_of(number: Any, *_: Any, **__: Any) -> Any:
    return number


#: What has a value among its operands.
HOLDING: dict[str, Callable[[Any], Any]] = {
    "frames": lambda one: dd.from_map(first_of, [one, one], meta=part(0)),
    "keyword": lambda one: frame().map_partitions(first_of, kw={"x": [one]}, meta=part(0)),
    "data node": lambda one: dd.from_map(first_of, [DataNode("x", one)], meta=part(0)),
    "mapping": lambda one: dd.from_map(first_of, [Table(x=one)], meta=part(0)),
    "broken": lambda one: dd.from_map(first_of, [Broken(), one], meta=part(0)),
}


def test_expressions_among_whose_operands_are_collections() -> None:
    """No graph of a dataframe is made to look into them, and none that fails is in the way."""
    with our_new_client() as client:
        kept = frame().persist()
        others = dd.from_map(part, range(4), meta=part(0)).persist().a + 1
        made = {name: make(kept) for name, make in HOLDING.items()}
        client.submit(increment, 1).release()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Expr, "__dask_graph__", Broken.__dask_graph__)
            for name, make in HOLDING.items():
                assert (make(kept).expr is made[name].expr) == (name != "broken"), name
            for each in list(kept.expr.operand("layer").values()):
                each.release()
            for name, make in HOLDING.items():
                assert make(kept).expr is not made[name].expr, name
            bucket = dd.from_map(first_of, [Bucket()], meta=part(0))
            assert dd.from_map(first_of, [Bucket()], meta=part(0)).expr is bucket.expr
        tokenize(client.submit(increment, 2))
        assert int(others.sum().compute()) == VALUES["dataframe"] + 12 + 3


def test_releases_cost_no_look_at_what_does_not_hold_the_futures() -> None:
    """Counted: looks into expressions, and at which of them their futures were released."""
    looks: list[Any] = []

    def counted(look: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: looks.append(look) or look(*given)  # type: ignore[func-returns-value]

    with our_new_client() as client, pytest.MonkeyPatch.context() as patch:
        for name in ("_look", "_are_released"):
            patch.setattr(living_expressions, name, counted(getattr(living_expressions, name)))
        kept = frame().persist()
        more = kept.a + 1
        for number in range(5):
            one = by_variable(client, client.submit(increment, number))()
            tokenize(one)
            one.release()
            assert (kept.a + 1).expr is more.expr
            if not number:
                first = len(looks)
        assert first > 0 and len(looks) == first
        # One that is held has its flags read, and the graph is not looked through again.
        other = dd.from_map(part, range(4), meta=part(0)).persist()
        assert (other.a + 1).expr is (held := other.a + 1).expr
        spanwise.futures_of(other)[0].release()
        looks.clear()
        assert (kept.a + 1).expr is more.expr and (other.a + 1).expr is not held.expr
        assert len(looks) < 3 * first


def test_a_future_made_before_another_of_its_key_is_released() -> None:
    """Both have one token: an expression of the one is no expression of the other."""
    with our_new_client() as client:
        first = frame().persist()
        spanwise.wait(first, LIMIT_SECONDS)
        released = spanwise.futures_of(first)
        others = {each.key: each for each in by_dataset(client, released)()}
        assert [*map(tokenize, others.values())] == [*map(tokenize, released)]
        for each in released:
            each.release()
        layer, *operands = first.expr.operands
        second = new_collection(type(first.expr)({key: others[key] for key in layer}, *operands))
        assert {*map(id, spanwise.futures_of(second))} == {*map(id, others.values())}
        del others
        assert CASES["dataframe"][1](second) == VALUES["dataframe"]


def test_tokens_of_futures_that_travel_beside_released_ones() -> None:
    with our_new_client() as client:
        one, other, last = (client.submit(increment, 1) for _ in range(3))
        token = tokenize(one)
        other.release()
        assert tokenize(by_variable(client, one)()) == token
        later = client.submit(increment, 1)
        assert tokenize(later) != token
        assert tokenize(by_variable(client, later)()) == tokenize(later)
        # Nor does what tells them apart grow with each that is released on the way.
        sent = []
        for _ in range(4):
            sent.append(len(pack_value(one)[0]))
            get = by_variable(client, one)
            one.release()
            one = get()
        assert len({*sent[1:]}) == 1
        assert tokenize(one) == token
        assert last.result() == 2


@pytest.mark.parametrize("make_client", [our_client, their_client])
def test_tokens_of_futures(make_client: Callable[[], Any]) -> None:
    with make_client() as client:
        first = client.submit(increment, 1)
        token = tokenize(first)
        assert tokenize(first) == token
        # What holds a future has the same key each time.
        assert client.submit(len, [first]).key == client.submit(len, [first]).key
        client.publish_dataset(first, name="first")
        assert tokenize(client.get_dataset("first")) == token
        client.unpublish_dataset("first")
        client.cancel([first])
        second = client.submit(increment, 1)
        assert second.key == first.key and tokenize(second) != token
        first.release()
        assert tokenize(first) == token
    closed = tokenize(second)
    with make_client() as client:
        third = client.submit(increment, 1)
        assert third.key == second.key and tokenize(third) != closed
        assert tokenize(second) == closed
