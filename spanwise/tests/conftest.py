"""What every test of the Python side may use.

The same tests run in two ways: from a checkout, and from the installed wheel
(``scripts/test``), where files of the checkout are found by SPANWISE_CHECKOUT.
"""

from __future__ import annotations

import fcntl
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import hypothesis
import pytest

from spanwise import Client
from spanwise.client import launch, reading_waiter, session
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.every_test import (
    checkout,
    clusters_have_one_observer,
    lasting_port,
    module_of,
    no_span_left_open,
    nothing_left_running,
    pytest_collection_finish,
)
from spanwise.tests.stages import ALONE, BY_VALUE, DASK_AHEAD, LONGEST, STAGES
from spanwise.wire.link import Link

# pytest finds them by their names here.
__all__ = [
    "checkout",
    "clusters_have_one_observer",
    "lasting_port",
    "no_span_left_open",
    "nothing_left_running",
    "pytest_collection_finish",
]

# The time limit of each test is a signal's handler, and waits for nothing: callers read as they do
# in a program without handlers.
reading_waiter.SIGNALS = ()

# For scripts/test, which runs quick tests again with another Python.
hypothesis.settings.register_profile(
    "again", hypothesis.settings.get_profile("any machine"), max_examples=20
)
# For scripts/mutate-python, which runs tests again and again in one process: what fails is not
# made smaller, nor drawn first the next time.
hypothesis.settings.register_profile(
    "as-it-fails",
    hypothesis.settings.get_profile("any machine"),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    database=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.differing_executors,
    ],
)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Of the processes that share the tests one collects first, and compiles all modules.

    That takes 20 s of a core more than to collect when it is done, and they would all do it.
    """
    if sys.pycache_prefix is None or not hasattr(session.config, "workerinput"):
        return (yield)
    kept = Path(sys.pycache_prefix)
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "collecting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests with the stages of ``scripts/test`` that they belong to; the longest first."""
    places = {module: place for place, module in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(module_of(item), len(places)))
    for item in items:
        if " at 0x" in item.nodeid:
            # Two processes that share the tests would see two tests.
            raise pytest.UsageError(f"name the case, its address is of this run: {item.nodeid}")
        for stage, modules in STAGES.items():
            if module_of(item) in modules:
                item.add_marker(stage)


@pytest.fixture(scope="module", autouse=True)
def _only_its_own_imports(request: pytest.FixtureRequest) -> Iterator[None]:
    """Workers import ahead what their client has: here that is what other tests needed.

    With pandas and dask.dataframe each worker is 60 MiB larger after some seconds, and takes a
    second of a core for that. Dask, which sizes results, takes each 0.2 s, as long as its start;
    most tests have results that need none. Where tasks are timed they are not to import it, and
    a few files show that first tasks get on with its import.
    """
    module = module_of(request.node)
    with pytest.MonkeyPatch.context() as patch:
        if module != "test_import_ahead":
            patch.setattr(session, "imported_modules", list)
            patch.setattr(launch, "FIRST", ())
            if module not in ALONE | DASK_AHEAD:
                patch.setattr(launch, "ALWAYS", ())
        yield


@pytest.fixture(scope="module", autouse=True)
def _tasks_go_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of most files whose tasks run on workers, the functions go there as those of a notebook do.

    By name, each worker imports the file for them: pytest, the client and what tests compare with
    take it a second of a core and more, twice as long as its start.
    """
    if module_of(request.node) not in BY_VALUE:
        yield
        return
    # Some take functions of another file of tests.
    names = {getattr(each, "__module__", None) for each in vars(request.module).values()}
    modules = [
        sys.modules[name]
        for name in sorted(
            {request.module.__name__, *(each for each in names if _is_of_tests(each))}
        )
    ]
    for each in modules:
        cloudpickle.register_pickle_by_value(each)
    yield
    for each in modules:
        cloudpickle.unregister_pickle_by_value(each)


def _is_of_tests(module: object) -> bool:
    return isinstance(module, str) and module.startswith("spanwise.tests.test_")


@pytest.fixture
def scheduler() -> Iterator[ClientScheduler]:
    """A scheduler in this process, with workers of its own."""
    made = ClientScheduler()
    yield made
    made.close()


@pytest.fixture
def client(scheduler: ClientScheduler) -> Iterator[LocalClient]:
    """A client of it. Tests of whole clusters have a fixture of the same name instead."""
    with LocalClient(scheduler) as made:
        yield made


@pytest.fixture
def ends() -> Iterator[tuple[Link, Link]]:
    """A door's end and a caller's."""
    one, two = socket.socketpair()
    down, up = Link(one, "peer", "down"), Link(two, "peer", "up")
    down.authenticated()
    up.authenticated()
    yield down, up
    down.close()
    up.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """A cluster of the module's own. Some modules have another one under this name."""
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    """A client of `distributed`, for the module's comparisons."""
    # Tests without Dask's own cluster installed have no use for it.
    from spanwise.tests.their_client import their_client

    with their_client() as made:
        yield made
