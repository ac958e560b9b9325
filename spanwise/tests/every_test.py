"""What every test has, with whichever release of Dask.

`conftest.py` takes it from here, and `oldest_dask.py`, where most of Spanwise cannot be imported.
"""

from __future__ import annotations

import gc
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import dask
import hypothesis
import pytest

from spanwise.observed import find_observer
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.file_module import module_of_file
from spanwise.tests.leftover import mark_this_process, marked_processes, wait_until_gone
from spanwise.tests.shared_observer import SharedObserver
from spanwise.tests.stages import ONE_OBSERVER

# What runs these tests is no program whose spans have a root; those that tests start are.
dask.config.set({"spanwise.spans.cells": False})
mark_this_process()
# Enough descriptors for every test, and for all runs as many.
DESCRIPTORS = 4096
_MOST = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if _MOST == resource.RLIM_INFINITY or _MOST >= DESCRIPTORS:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, _MOST))

# A shell lets what it starts in the background ignore Ctrl-C, and a program what it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine draws slowly and computes slowly: that is no defect of a test. One that hangs ends
# by the time limit of each test.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


def module_of(item: pytest.Item) -> str:
    """Name the file of a test, without its ending."""
    return item.nodeid.split("::")[0].rpartition("/")[2].removesuffix(".py")


def pytest_collection_finish() -> None:
    """Look for garbage only among what tests make.

    400,000 objects of imported modules would be walked each time, in a quarter of a second.
    (Some files freeze again what earlier files left: who looks for garbage sees that of its own
    file.)
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the folder of the checkout; skip where there is none."""
    if not (CHECKOUT / "package.json").exists():
        pytest.skip("needs files of the checkout: set SPANWISE_CHECKOUT to its folder")
    return CHECKOUT


@pytest.fixture
def lasting_port(checkout: Path) -> int:
    """Return a port that was free, and that the system gives to nobody by itself: what listens
    there may end, and be started there again.
    """
    picking = module_of_file("pick_ports", checkout / "scripts" / "pick_ports.py")
    [port] = picking.pick(1, picking.candidates(*picking.given_away()))
    return int(port)


@pytest.fixture(scope="module", autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail the module whose schedulers, observers or workers outlive its tests."""
    known = set(marked_processes())
    yield
    left = wait_until_gone(known, limit_seconds=60)
    if left:
        pytest.fail("processes left running:\n" + "\n".join(left))


@pytest.fixture(scope="module", autouse=True)
def clusters_have_one_observer(
    request: pytest.FixtureRequest, nothing_left_running: None
) -> Iterator[None]:
    """In some files all clusters and observations have one observer, which ends with the file.

    To start another, a program of Node, takes 0.4 s of a core, a third of a small cluster.
    """
    if module_of(request.node) not in ONE_OBSERVER:
        yield
        return
    shared = SharedObserver()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find_observer, "OwnObserver", shared)
        yield
    shared.close()


@pytest.fixture(autouse=True)
def no_span_left_open() -> Iterator[None]:
    """Fail the test that leaves a span open, and not the fifty after it that are then inside."""
    yield
    left = dask.get_annotations()
    if left:
        dask.base._annotations.set(None)
        pytest.fail(f"annotations left open: {left}")
