"""A Node program that calls ``observe`` of the npm package, beside a real Jupyter server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.processes.node import find_node
from spanwise.tests.bundled import bundle
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.test_observe_server import clusters

pytest.importorskip("jupyter_server")


LIMIT = 120.0

PROGRAM = """
import { getProcesses, getSync, getThreads, observe, ref, span, task } from './src/node/index';

const inc = (x: number) => x + 1;
const graph = { a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) };
for (const get of [getSync, getThreads, getProcesses]) {
  await observe(() => span('counting', async () => get(graph, 'c')), { name: get.name });
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with the package in it, and beside it what that starts."""
    folder = tmp_path_factory.mktemp("npm")
    programs = folder / "programs"
    subprocess.run(
        [find_node(), "scripts/bundle-node-programs.mjs", str(programs)],
        cwd=CHECKOUT,
        check=True,
        timeout=LIMIT,
    )
    return bundle(
        folder / "program.mjs",
        stdin={"contents": PROGRAM, "resolveDir": str(CHECKOUT), "loader": "ts"},
        format="esm",
        external=["pidtree", "pidusage"],
        # Bundled CommonJS packages call require() for Node's own modules.
        banner={
            "js": "import { createRequire as r } from 'node:module';"
            "const require = r(import.meta.url);"
        },
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[JupyterServer]:
    server = JupyterServer(tmp_path)
    yield server
    server.close()


def run_beside(server: JupyterServer, program: Path) -> subprocess.CompletedProcess[str]:
    """Run it in an environment that names no server: the runtime folder does."""
    return subprocess.run(
        [find_node(), str(program)],
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def test_a_program_beside_the_server_finds_it_and_is_kept(
    program: Path, server: JupyterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run_beside(server, program)
    assert (ran.returncode, ran.stderr) == (0, "")
    monkeypatch.setenv("SPANWISE_CONNECTION", str(server.connection_file))
    seen = {info["name"]: info for info in clusters()}
    assert seen.keys() == {"getSync", "getThreads", "getProcesses"}
    for info in seen.values():
        assert (info["kind"], info["state"], info["tasks"]) == ("local", "ended", 2)


def test_a_program_is_told_when_the_server_has_no_observer(
    program: Path, server: JupyterServer
) -> None:
    server.close()
    ran = run_beside(server, program)
    assert ran.returncode == 0
    assert "nothing is observed: No JupyterLab with Spanwise was found" in ran.stderr
