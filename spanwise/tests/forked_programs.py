"""Python programs that begin with their packages imported: forks of a process that has them.

The packages of a Dask cluster's processes, and of a Jupyter server, take a second of a core to
import, and most tests need neither for much longer::

    test ── {"module": …} ──▶ template: imports once, forks ──▶ program, which waits
         ◀──── pid ─────────
         ──── go on ───────▶                          ──▶ it begins

It waits because one that has ended is no process any more, of which the test could have a handle.

Nobody ends them when the tests are killed: they end with the template, and that with the process of
the tests, however it ends.

A program's arguments, folder, variables and output are its own, as if an interpreter had started
it; what the template had read of its variables is read again. What an interpreter reads when it
begins is the template's: texts hash alike in all its programs.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from spanwise.tests import address_grammar
from spanwise.tests.leftover import not_left_over

#: What a busy machine may need to import all.
START_SECONDS = 240.0
#: Those of no test: a template serves many.
VARIABLES = dict(os.environ)
#: What a template begins with. (Its interpreter may have no Spanwise.)
IMPORT = f"""
import gc, importlib, json, os, random, runpy, signal, sys, tempfile, threading
answers, sys.stdout = sys.stdout, sys.stderr  # (a module may print while it is imported)
with runpy.run_path({address_grammar.__file__!r})["without_address_grammar"]():
    for name in sys.argv[1:]:
        importlib.import_module(name)
gc.collect()
gc.freeze()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # (nobody waits for them here)
"""
#: What a fork of it runs, which has its output. A program ends by leaving this, as an interpreter
#: ends.
BECOME = """
def become(asked):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin, sys.stdout = open(0), answers
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["variables"])
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [each for each in own if each and each not in sys.path]
    tempfile.tempdir = None
    random.seed()
    if "dask" in sys.modules:
        sys.modules["dask"].config.refresh()
    sys.argv = asked["arguments"]
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
"""
#: Linux ends a fork with the template (prctl's PR_SET_PDEATHSIG).
_SERVE = """
import ctypes
template = os.getpid()
for line in sys.stdin.buffer:
    asked = json.loads(line)
    assert threading.active_count() == 1, threading.enumerate()
    waits, goes_on = os.pipe()
    pid = os.fork()
    if pid:
        os.close(waits)
        print("forked", pid, file=answers, flush=True)
        sys.stdin.buffer.readline()
        os.close(goes_on)
        continue
    os.close(goes_on)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.read(waits, 1)
    os.close(waits)
    if os.getppid() != template:
        break
    out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    become(asked)
    break
"""


class Template:
    """A process that has imported some modules, and forks.

    Parameters
    ----------
    python
        The interpreter.
    modules
        What it imports.
    """

    def __init__(self, python: str, *modules: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", IMPORT + BECOME + _SERVE, *modules],
            env=VARIABLES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        not_left_over(self._process.pid)
        atexit.register(self._close)

    def start(
        self, module: str, *options: str, out: Path, folder: Path, variables: dict[str, str]
    ) -> psutil.Process:
        """Start ``python -m module …`` in a folder, with variables; what it prints goes to `out`.

        Nobody can ask for its exit code: it is no child of this process.
        """
        asked = {
            "module": module,
            "arguments": [module, *options],
            "out": str(out),
            "folder": str(folder),
            "variables": variables,
        }
        try:
            return self._started(module, asked)
        except BaseException:
            # It may wait for words of this start, and would take those of the next for them.
            self._process.kill()
            self._process.wait()
            raise

    def _started(self, module: str, asked: dict[str, object]) -> psutil.Process:
        sending, answers = self._process.stdin, self._process.stdout
        assert sending is not None and answers is not None
        sending.write(f"{json.dumps(asked)}\n".encode())
        sending.flush()
        readable, _, _ = select.select([answers], [], [], START_SECONDS)
        line = answers.readline() if readable else b""
        assert line.startswith(b"forked "), (
            f"the process that forks {module} has said {line!r} within {START_SECONDS:g} s, "
            f"and ended with {self._process.poll()}"
        )
        program = psutil.Process(int(line.split()[1]))
        sending.write(b"go on\n")
        sending.flush()
        return program

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def _close(self) -> None:
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=10)
        self._process.kill()


_templates: dict[tuple[str, ...], Template] = {}


def template(python: str, *modules: str) -> Template:
    """The template of an interpreter with these modules, one for all tests of this process."""
    made = _templates.get((python, *modules))
    if made is None or not made.lives:
        made = _templates[python, *modules] = Template(python, *modules)
    return made
