"""Forks of a process that has imported packages already, as other tests start them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from spanwise.tests.forked_programs import Template
from spanwise.tests.processes import is_gone, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def _line(out: Path) -> str:
    """Return the line that a program has printed, which comes in parts; "" until it is whole."""
    printed = out.read_text() if out.exists() else ""
    return printed[:-1] if printed.endswith("\n") else ""


def test_variables_of_the_test_that_asks_first_are_those_of_its_program_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "met.py").write_text("import os\nAT_IMPORT = os.environ.get('OF_A_TEST')\n")
    (tmp_path / "told.py").write_text(
        "import met, os\nprint(met.AT_IMPORT, os.environ.get('OF_A_TEST'), flush=True)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OF_A_TEST", "first")
    template = Template(sys.executable, "met")
    try:
        for value in ("first", "second"):
            out = tmp_path / value
            variables = {**os.environ, "OF_A_TEST": value}
            template.start("told", out=out, folder=tmp_path, variables=variables)
            assert wait_until("it has told", partial(_line, out)) == f"None {value}"
    finally:
        template._close()


def test_a_program_that_ends_at_once_has_a_handle(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    template = Template(sys.executable, "json")
    begun = []
    try:
        for n in range(20):
            variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
            out = tmp_path / f"out-{n}"
            begun.append(template.start("ends", out=out, folder=tmp_path, variables=variables))
        wait_until("all have ended", lambda: not any(each.is_running() for each in begun))
    finally:
        template._close()


def test_a_start_that_is_interrupted_leaves_no_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = Template(sys.executable, "json")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("select.select", interrupted)
        template.start("json.tool", out=tmp_path / "out", folder=tmp_path, variables={})
    assert not template.lives


_HOLDER = """
import sys, time
from pathlib import Path
from spanwise.tests.forked_programs import Template
folder = Path(sys.argv[1])
template = Template(sys.executable, "json")
program = template.start("rests", out=folder / "out", folder=folder, variables={})
print(template._process.pid, program.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("killed", ["the tests", "the template"])
def test_template_and_programs_end_when_killed(tmp_path: Path, killed: str) -> None:
    (tmp_path / "rests.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        template, program = (psutil.Process(int(pid)) for pid in holder.stdout.readline().split())
        try:
            wait_until("it has begun", lambda: _line(tmp_path / "out") == "begun")
            (holder if killed == "the tests" else template).kill()
            wait_until("the program ends", lambda: is_gone(program))
            wait_until("the template ends", lambda: is_gone(template))
        finally:
            holder.kill()
            with suppress(psutil.NoSuchProcess):
                program.kill()


def test_what_programs_have_of_jupyter_waits_for_no_grammar_of_addresses(tmp_path: Path) -> None:
    pytest.importorskip("rfc3987_syntax")
    (tmp_path / "looks.py").write_text(
        "import sys\nprint('jsonschema' in sys.modules, 'rfc3987_syntax' in sys.modules)\n"
    )
    template = Template(sys.executable, "jsonschema")
    try:
        out = tmp_path / "out"
        variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
        template.start("looks", out=out, folder=tmp_path, variables=variables)
        assert wait_until("it has looked", lambda: _line(out)) == "True False"
    finally:
        template._close()
