"""Every public name of `distributed` is here, or its absence says what to use instead."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

import spanwise
from spanwise.client import distributed_names as names
from spanwise.client.keywords import INSTEAD, take_keywords
from spanwise.errors import AbsentAttribute, AbsentImport
from spanwise.tests import names_table
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient


def test_the_page_is_what_the_code_says(checkout: Path) -> None:
    page = (checkout / "docs" / "distributed-names.md").read_text("utf-8")
    if distributed.__version__ not in page.split("when the import")[0]:
        pytest.skip(f"the page is of another version than {distributed.__version__}")
    assert page == names_table.document(), (
        "run: python -m spanwise.tests.names_table docs/distributed-names.md"
    )


def test_no_name_is_forgotten_and_none_is_both() -> None:
    for found in names_table.sections().values():  # raises AttributeError for a forgotten one
        assert found
    assert not {*names.MODULE, *names.FORMER} & {*spanwise.__all__}
    assert not {*names.FORMER} & {*dir(distributed)}
    assert not [name for name in names.CLIENT if name in dir(spanwise.Client)]
    assert not [name for name in names.LOCAL_CLUSTER if name in dir(spanwise.LocalCluster)]
    assert not [name for name in names.FUTURE if name in dir(spanwise.Future)]
    assert not [name for name in names.AS_COMPLETED if name in dir(spanwise.as_completed)]
    known = {row.name for found in names_table.sections().values() for row in found}
    assert {*names.NOTES} <= known


def test_each_name_that_is_the_same_is_shown_on_a_real_cluster() -> None:
    rows = [row for found in names_table.sections().values() for row in found]
    same = [row.name for row in rows if row.verdict == "same"]
    assert {*names_table.SHOWN} <= {*same}, "a test is named of a name that is not the same"
    for name in same:
        test = names_table.shown_by(name)
        path, *inside = test.partition("[")[0].split("::")
        source = (Path(__file__).parent / path).read_text("utf-8")
        body: list[ast.stmt] = ast.parse(source).body
        for each in inside:
            found = [node for node in body if getattr(node, "name", None) == each]
            assert found, f"{name}: there is no {test}"
            body = getattr(found[0], "body", [])
        # Not on a scheduler of the tests' own, and by its name.
        assert "_scheduler import" not in source, f"{name}: {test}"
        case = f'"{name}"' if "[" in test else rf"\b{name.rpartition('.')[2]}\b"
        assert re.search(case, source), f"{name}: {test} does not use it"


@pytest.mark.parametrize("name", names.CLIENT)
def test_an_absent_name_of_the_client(client: LocalClient, name: str) -> None:
    with pytest.raises(AbsentAttribute, match=f"has no {name} ") as caught:
        getattr(client, name)
    assert names.CLIENT[name] in str(caught.value)
    assert isinstance(caught.value, NotImplementedError) and not hasattr(client, name)


def test_a_name_that_nobody_has(client: LocalClient) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'") as caught:
        _ = client.nonsense  # type: ignore[attr-defined]
    assert type(caught.value) is AttributeError
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = spanwise.nonsense


@pytest.mark.parametrize("name", {**names.MODULE, **names.FORMER})
def test_an_absent_name_of_the_module(name: str) -> None:
    with pytest.raises(AbsentImport, match=f"has no {name} ") as caught:
        exec(f"from spanwise import {name}")  # noqa: S102
    assert {**names.MODULE, **names.FORMER}[name] in str(caught.value)
    with pytest.raises(AbsentAttribute) as asked:
        getattr(spanwise, name)
    assert str(asked.value) == str(caught.value)
    assert not hasattr(spanwise, name)


def test_substitutes_that_are_calls_exist() -> None:
    """What is named as a method of the client, or of the module, is one."""
    for substitute in [*names.CLIENT.values(), *names.MODULE.values(), *names.FORMER.values()]:
        for method in re.findall(r"\bClient\.(\w+)", substitute):
            assert hasattr(spanwise.Client, method) or method == "status", substitute
    for substitute in names.CLIENT.values():
        for method in re.findall(r"(?<![.\w])(\w+)\(", substitute):
            known = hasattr(spanwise.Client, method) or hasattr(spanwise, method)
            assert known or method in {"copies"}, substitute


def _called(client: LocalClient, name: str, /, **given: Any) -> Any:
    """The outcome of calling a name of the page in earnest, also with these keywords."""
    two = dask.delayed(abs)(-2)
    future = client.submit(abs, -1, pure=False)
    calls: dict[str, Callable[..., Any]] = {
        "as_completed": lambda **k: [f.result() for f in spanwise.as_completed([future], **k)],
        "Client": lambda **k: _made(k),
        "Client.cancel": lambda **k: (client.cancel(future, **k), future.status),
        "Client.close": lambda **k: (client.close(**k), client.status),
        "Client.compute": lambda **k: client.compute(two, **k).result(60),
        "Client.current": spanwise.Client.current,
        "Client.dump_cluster_state": lambda **k: _dumped(client, k),
        "Client.gather": lambda **k: client.gather([future], **k),
        "Client.get": lambda **k: client.get({"x": (abs, -3)}, "x", **k),
        "Client.map": lambda **k: client.gather(client.map(abs, [-1, 2], pure=False, **k)),
        "Client.persist": lambda **k: client.persist(two, **k).compute(),
        "Client.profile": client.profile,
        "Client.retry": lambda **k: (client.retry(future, **k), future.result(60)),
        "Client.run": lambda **k: client.run(abs, -1, **k),
        "Client.scheduler_info": lambda **k: [*client.scheduler_info(**k)["workers"]],
        "Client.scatter": lambda **k: client.scatter([1, 2], **k)[1].result(60),
        "Client.submit": lambda **k: client.submit(abs, -4, pure=False, **k).result(60),
        "Client.unregister_worker_plugin": lambda **k: client.unregister_worker_plugin("x", **k),
        "PipInstall": lambda **k: spanwise.PipInstall([], **k),
        "get_client": spanwise.get_client,
        "performance_report": lambda **k: spanwise.performance_report("x", **k).filename,
        "LocalCluster.adapt": lambda **k: spanwise.LocalCluster.adapt(
            spanwise.LocalCluster.__new__(spanwise.LocalCluster), **k
        ),
        "LocalCluster": lambda **k: take_keywords("LocalCluster", k, ()),
        "MultiLock": lambda **k: spanwise.MultiLock(["x"], **k).names,
        "UploadDirectory": lambda **k: spanwise.UploadDirectory(".", **k),
        "Lock": lambda **k: spanwise.Lock("x", **k).name,
        "Semaphore": lambda **k: spanwise.Semaphore(1, "x", **k).name,
    }
    return calls[name](**given)


def _dumped(client: LocalClient, given: dict[str, Any]) -> list[str]:
    parts = ("scheduler", "workers", "tasks", "events", "logs", "versions")
    with tempfile.TemporaryDirectory() as folder:
        client.dump_cluster_state(f"{folder}/x", exclude=parts, **given)
        return [each.name for each in Path(folder).iterdir()]


def _made(given: dict[str, Any]) -> str:
    scheduler = ClientScheduler()
    try:
        with LocalClient(scheduler, set_as_default=False, **given) as made:
            return made.status
    finally:
        scheduler.close()


@pytest.mark.parametrize(
    ("name", "keyword"),
    [(name, keyword) for name, found in names.REFUSED.items() for keyword in found],
)
def test_a_keyword_that_the_page_calls_refused(
    client: LocalClient, name: str, keyword: str
) -> None:
    with pytest.raises(NotImplementedError, match=r"\w+ \w+ \w+"):
        _called(client, name, **{keyword: names.REFUSED[name][keyword]})


@pytest.mark.parametrize(("name", "keyword"), [*names_table.ignored()])
def test_a_keyword_that_the_page_calls_ignored(
    client: LocalClient, name: str, keyword: str
) -> None:
    if name == "LocalCluster.close":
        return  # as the client's; see test_local_cluster.py
    if name == "Client.get_task_stream":
        return  # needs a cluster that is observed; see test_record_fields.py
    before = (None, "closed") if name == "Client.close" else _called(client, name)
    # A value that has no meaning anywhere, for what is not even read.
    value = True if keyword in names.WITHOUT_EFFECT.get(name, ()) else object()
    told = keyword in INSTEAD and name in ("Client", "LocalCluster")
    with pytest.warns(UserWarning, match=f" {keyword}=: ") if told else nullcontext():
        assert _called(client, name, **{keyword: value}) == before


def test_the_page_says_of_each_keyword_what_becomes_of_it(checkout: Path) -> None:
    page = (checkout / "docs" / "distributed-names.md").read_text("utf-8")
    said = {
        (name, verb, keyword)
        for name, note in re.findall(r"^\| `([\w.]+)` \| different \| (.*) \|$", page, re.M)
        for verb, listed in re.findall(r"(refuses|ignores) ((?:`\w+`(?:, )?)+)", note)
        for keyword in re.findall(r"\w+", listed)
    }
    refused = {
        (name, "refuses", keyword) for name, found in names.REFUSED.items() for keyword in found
    }
    ignored = {(name, "ignores", keyword) for name, keyword in names_table.ignored()}
    assert said == refused | ignored
    asked = [("submit", "fifo_timeout"), ("map", "batch_size"), ("compute", "fifo_timeout")]
    assert {(f"Client.{method}", "ignores", keyword) for method, keyword in asked} <= said


def test_actors_are_refused(client: LocalClient) -> None:
    with pytest.raises(NotImplementedError, match="no actors"):
        client.submit(abs, 1, actor=True)
    with pytest.raises(NotImplementedError, match="no actors"):
        client.map(abs, [1], actors=True)
    assert client.submit(abs, -1, fifo_timeout="1 h").result(60) == 1


def test_the_package_stays_cheap_to_import() -> None:
    """The server and every worker import it: nothing of the client comes with it."""
    code = "import spanwise, sys; print([m for m in sys.modules if m.startswith('spanwise.')])"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.strip() == "[]"


def test_current_client_and_threads(client: LocalClient) -> None:
    assert spanwise.Client.current() is client
    (address,) = client.nthreads()
    assert client.nthreads(workers=[address]) == {address: 1} == client.ncores(address)
    assert spanwise.TimeoutError is TimeoutError
