"""The first programs of pages in ``docs`` run as they stand there, on less data."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import distributed
import pytest

from spanwise import Client
from spanwise.tests.dask_threads import dask_threads
from spanwise.tests.processes import LIMIT_SECONDS


def programs(checkout: Path, page: str) -> list[str]:
    """The page's blocks of Python."""
    text = (checkout / "docs" / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def smaller(program: str) -> str:
    """Arrays of a hundredth; there are some."""
    assert "_000" in program
    return program.replace("_000", "_00").replace("chunks=1_00", "chunks=100")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where programs write their files."""
    monkeypatch.chdir(tmp_path)


def test_records_of_tasks(checkout: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    first, picture, *others = programs(checkout, "task-records.md")
    assert others == []
    try:
        exec(first, names)  # noqa: S102
        (record,) = names["stream"].data
        assert names["client"].get_task_stream(start=names["t"], count=100) == [record]
        exec(picture, names)  # noqa: S102
        assert (tmp_path / "task-stream.html").exists() and names["records"]
    finally:
        if isinstance(client := names.get("client"), Client):
            client.close()


def test_a_run_that_is_kept(checkout: Path, tmp_path: Path) -> None:
    keep, later = programs(checkout, "keep.md")
    (tmp_path / "keep.py").write_text(keep, "utf-8")
    subprocess.run([sys.executable, "keep.py"], check=True, timeout=LIMIT_SECONDS)
    assert "Dask Performance Report" in title_of(tmp_path / "run.html")
    # In a Python that has no Spanwise: what was kept is read by what every Python has.
    told = [line.partition("  # → ") for line in later.splitlines() if "# →" in line]
    asked = later
    for expression, _, _ in told:
        asked = asked.replace(expression, f"print(repr(({expression})))")
    run = subprocess.run(
        [sys.executable, "-S", "-c", asked],
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert run.stdout.splitlines() == [value for _, _, value in told] and len(told) == 3
    assert "press Trust HTML" in (tmp_path / "run.html").read_text("utf-8")


def title_of(page: Path) -> str:
    found = re.search(r"<title>(.*?)</title>", page.read_text("utf-8"))
    assert found is not None
    return found[1]


def test_an_observation(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(smaller(programs(checkout, "observe.md")[0]), names)  # noqa: S102
    assert names["seen"].status == "ended" and (tmp_path / "profile.html").exists()
    assert names["records"]
    said = capsys.readouterr().out
    assert "thread-" in said and "  analysis  " in said


def test_a_dask_cluster(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    with dask_threads() as cluster:
        made = distributed.client.Client
        monkeypatch.setattr(distributed, "Client", lambda: made(cluster))
        try:
            exec(smaller(programs(checkout, "dask.md")[0]), names)  # noqa: S102
        finally:
            if "client" in names:
                names["client"].close()
    runs, sums, spans, *_ = capsys.readouterr().out.split("\n")
    assert int(runs.partition(" runs of tasks")[0]) > 0
    assert isinstance(ast.literal_eval(sums), dict)
    assert "(runs of tasks, thread time):" in spans
