"""scripts/check_python_imports.py finds what it is there to find."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TABLE = "python-import-table.json"

#: The table of these tests: its rows have files in every tree that is drawn below.
ROWS = [
    {"folder": "errors.py", "spanwise": [], "outside": []},
    {"folder": "graph", "spanwise": [], "outside": ["dask"]},
    {"folder": "measure", "spanwise": ["graph"], "outside": []},
    {"folder": "worker", "spanwise": ["errors.py", "graph", "measure"], "outside": ["cloudpickle"]},
]
PRIVATE = {"dask": "spanwise/graph/private_dask.py"}
FILES = {
    "errors.py": "",
    "graph/__init__.py": "",
    "graph/packs.py": "import dask\nfrom dask.core import flatten\nversion = dask.__version__\n",
    "graph/private_dask.py": "from dask._task_spec import Task, _execute_subgraph\n",
    "measure/clocks.py": "import time\nfrom spanwise.graph import packs\n",
    "worker/tasks.py": "from __future__ import annotations\nfrom spanwise.errors import Broken\n",
    "worker/steps.py": "import cloudpickle\nimport spanwise.worker.tasks\n",
    "tests/test_all.py": "import anything\nfrom spanwise.worker import steps\n",
}

Complaints = Callable[..., list[str]]


@pytest.fixture
def complaints(checkout: Path, tmp_path: Path) -> Complaints:
    """Return a function: drawn files and rows → what the check says of them."""

    def check(files: dict[str, str], rows: list[dict[str, object]] = ROWS) -> list[str]:
        scripts = tmp_path / "scripts"
        scripts.mkdir()
        shutil.copy(checkout / "scripts" / "check_python_imports.py", scripts)
        (scripts / TABLE).write_text(
            json.dumps({"rows": rows, "private": PRIVATE, "debt": []}), "utf8"
        )
        for name, text in {**FILES, **files}.items():
            file = tmp_path / "spanwise" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf8")
        done = subprocess.run(
            [sys.executable, scripts / "check_python_imports.py"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = done.stderr.splitlines()[:-1]
        assert done.returncode == bool(said), done.stderr
        return said

    return check


def test_what_the_table_allows(complaints: Complaints) -> None:
    assert complaints({}) == []


@pytest.mark.parametrize(
    ("name", "text", "refused"),
    [
        ("graph/a.py", "from spanwise.worker.tasks import Row", "graph may not import worker"),
        ("graph/a.py", "import spanwise.errors", "graph may not import errors.py"),
        ("graph/a.py", "from spanwise import errors", "graph may not import errors.py"),
        ("graph/a.py", "from ..worker import tasks", "graph may not import worker"),
        ("graph/a.py", "import cloudpickle", "graph may not import cloudpickle"),
        ("worker/a.py", "import dask.array as da", "worker may not import dask"),
        ("worker/a.py", "from spanwise.tests.test_all import x", "is not shipped"),
        (
            "measure/a.py",
            "if TYPE_CHECKING: from spanwise.worker.tasks import Row",
            "measure may not import worker",
        ),
        (
            "measure/a.py",
            "def f(): import spanwise.worker.steps",
            "measure may not import worker",
        ),
    ],
)
def test_what_the_table_forbids(complaints: Complaints, name: str, text: str, refused: str) -> None:
    (said,) = complaints({name: text})
    assert said.startswith(f"spanwise/{name}:1: ") and refused in said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from dask._task_spec import Task", "dask._task_spec.Task"),
        ("import dask._expr", "dask._expr"),
        ("def f(): from dask.dataframe.dask_expr._merge import Merge", "dask_expr._merge.Merge"),
        ("from dask.base import _secret", "dask.base._secret"),
        ("import dask; file = dask._task_spec.__file__", "dask._task_spec.__file__"),
    ],
)
def test_private_names_stand_in_one_file(complaints: Complaints, text: str, name: str) -> None:
    (said,) = complaints({"graph/a.py": text})
    assert said.startswith("spanwise/graph/a.py:1: ")
    assert f"{name} is private: spanwise/graph/private_dask.py is to name it" in said


def test_circles_of_types_count(complaints: Complaints) -> None:
    back = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from spanwise.worker import a\n"
    )
    assert complaints(
        {
            "worker/a.py": "from spanwise.worker.b import B",
            "worker/b.py": "def late():\n    from spanwise.worker.c import C\n",
            "worker/c.py": back,
        }
    ) == ["circle: spanwise.worker.a → spanwise.worker.b → spanwise.worker.c → spanwise.worker.a"]


def test_each_knot_is_told_once(complaints: Complaints) -> None:
    said = complaints(
        {
            "worker/a.py": "from spanwise.worker import b",
            "worker/b.py": "from spanwise.worker import a, c",
            "worker/c.py": "from spanwise.worker import a",
            "graph/a.py": "from spanwise.graph.b import x",
            "graph/b.py": "from spanwise.graph.a import y",
        }
    )
    assert [line.split(" → ")[0] for line in said] == [
        "circle: spanwise.graph.a",
        "circle: spanwise.worker.a",
    ]


def test_a_folder_without_a_row(complaints: Complaints) -> None:
    assert complaints({"fresh/a.py": ""}) == [
        f"spanwise/fresh/a.py: its folder is not in scripts/{TABLE}"
    ]


def test_a_row_without_a_folder(complaints: Complaints) -> None:
    ghost = {"folder": "gone", "spanwise": ["never"], "outside": []}
    assert complaints({}, [*ROWS, ghost]) == [
        f"scripts/{TABLE}: no file belongs to the row gone",
        f"scripts/{TABLE}: gone names never, which has no row",
    ]


def test_this_checkout_follows_its_table(checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, checkout / "scripts" / "check_python_imports.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("spanwise.local.observe", ("spanwise.client", "spanwise.worker")),
        ("spanwise.local.away", ("spanwise.client", "spanwise.worker", "spanwise.observed")),
        (
            "spanwise.worker.__main__",
            ("spanwise.client", "spanwise.local", "spanwise.worker.needs"),
        ),
        ("spanwise.client.client", ("spanwise.worker", "spanwise.local", "spanwise.client.needs")),
    ],
)
def test_what_a_program_leaves_out(module: str, absent: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = done.stdout.split()
    assert module in loaded
    assert [name for name in loaded if f"{name}.".startswith(tuple(f"{a}." for a in absent))] == []
