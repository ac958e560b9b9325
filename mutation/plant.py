"""Plants small defects in a file of Python, one at a time, and counts those that its tests see.

The defects are mutmut's. Its runner collects the tests again for each of them; here they are
collected and run once, which tells how long each takes and which functions it calls, and for each
defect this process forks. The child puts the changed function in the place of the right one and
runs the tests that call it, the quickest first, until one fails.

    plant.py FILE LEFT SURVIVORS TESTS…        all defects
    AGAIN=1 plant.py FILE LEFT SURVIVORS …     those that the last run left, after a new test
    ONLY=_close plant.py FILE …                those of functions whose names match
    EVERY=4 plant.py FILE …                    the fourth, the eighth and so on: a sample of all

`LEFT` is a list for the next run, `SURVIVORS` a page to read.
"""

from __future__ import annotations

import difflib
import importlib
import json
import math
import os
import re
import resource
import signal
import sys
import threading
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
import mutmut.mutation.file_mutation as mutmut
import mutmut.mutation.pragma_handling as pragmas
import pytest

#: A defect is seen if its tests take this many times as much of the processor, and so many seconds
#: more: beside other work these are the same.
PATIENCE = 6
MORE_PROCESSOR_SECONDS = 5
#: So is one that makes them wait: they last as many times as long, and so many seconds more.
MORE_SECONDS = 60

#: Nothing is left out by a comment.
pragmas.config = lambda: types.SimpleNamespace(do_not_mutate_patterns=[])

_skips = mutmut.MutationVisitor._skip_node_and_children


def _skips_less(visitor: Any, node: cst.CSTNode) -> bool:
    """Of decorated functions only the decorators; mutmut cannot put another in their place."""
    decorated = isinstance(node, cst.FunctionDef) and node.decorators
    return _skips(visitor, node.with_changes(decorators=[]) if decorated else node)


mutmut.MutationVisitor._skip_node_and_children = _skips_less


@dataclass(frozen=True)
class Defect:
    """One changed function.

    Attributes
    ----------
    owner, name
        Class, or "", and name of the function.
    code
        The function's text without decorators.
    difference
        Its changed lines.
    id
        The same in each run while the function is the same.
    """

    owner: str
    name: str
    code: str
    difference: str
    id: str

    @property
    def function(self) -> str:
        """The function as reports call it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    def changed(self, module: types.ModuleType) -> types.FunctionType:
        """The changed function, of that module's names."""
        head = f"from __future__ import annotations\nclass {self.owner or 'Nobody'}:\n"
        body = "".join(f"    {line}\n" for line in self.code.strip("\n").split("\n"))
        if not self.owner:
            head, body = "from __future__ import annotations\n", self.code
        names = dict(vars(module))
        exec(compile(head + body, str(module.__file__), "exec"), names)  # noqa: S102
        made = names[self.owner].__dict__ if self.owner else names
        return _bare(made[self.name])

    def right(self, module: types.ModuleType) -> types.FunctionType:
        """The function in whose place it is put."""
        names = vars(module)
        return _bare((names[self.owner].__dict__ if self.owner else names)[self.name])

    def plant(self, module: types.ModuleType) -> None:
        """Put the changed one in the place of the right one, also where that is kept by others."""
        right, changed = self.right(module), self.changed(module)
        right.__code__ = changed.__code__
        right.__defaults__ = changed.__defaults__
        right.__kwdefaults__ = changed.__kwdefaults__


def _bare(function: Any) -> types.FunctionType:
    """The function below decorators."""
    while True:
        inner = getattr(function, "fget", None) or getattr(function, "__wrapped__", None)
        inner = inner or getattr(function, "__func__", None)
        if inner is None:
            return function
        function = inner


def defects_of(path: Path) -> list[Defect]:
    """All defects, in the order of the text."""
    tree, mutations, _, _ = mutmut.create_mutations(str(path), path.read_text("utf-8"))
    owners: dict[Any, str] = {}
    for statement in tree.body:
        owners[statement] = ""
        if isinstance(statement, cst.ClassDef):
            owners.update(dict.fromkeys(statement.body.body, statement.name.value))
    found: list[Defect] = []
    counts: dict[str, int] = {}
    for mutation in mutations:
        function = mutation.contained_by_top_level_function
        if not isinstance(function, cst.FunctionDef):
            continue
        bare = function.with_changes(decorators=[], leading_lines=[])
        changed = mutmut.deep_replace(bare, mutation.original_node, mutation.mutated_node)
        lines = [tree.code_for_node(each).split("\n") for each in (bare, changed)]
        if lines[0] == lines[1]:
            continue
        difference = "\n".join(
            line
            for line in difflib.unified_diff(*lines, lineterm="", n=0)
            if line[0] in "+-" and line[:3] not in ("+++", "---")
        )
        owner, name = owners[function], function.name.value
        text = f"{owner}.{name}\n{difference}"
        counts[text] = counts.get(text, 0) + 1
        unique = f"{text}\n{counts[text]}"
        found.append(Defect(owner, name, "\n".join(lines[1]), difference, unique))
    return found


def sample_step() -> int:
    """Of how many defects one is planted."""
    text = os.environ.get("EVERY", "1")
    if not re.fullmatch("[1-9][0-9]*", text):
        raise pytest.UsageError(f"EVERY={text}: give a whole number from 1 on.")
    if text != "1" and (os.environ.get("AGAIN") or os.environ.get("ONLY")):
        # The list for the next run would lack the survivors that are not in the sample.
        raise pytest.UsageError("EVERY is a sample of all defects: give no AGAIN and no ONLY.")
    return int(text)


class Planting:
    """A plugin that plants instead of running the tests."""

    def __init__(self, path: Path, left: Path, survivors: Path) -> None:
        self._path = path
        self._left = left
        self._survivors = survivors
        self._failed = ""
        #: By the clock, and of the processor.
        self._seconds: dict[pytest.Item, float] = {}
        self._processor_seconds: dict[pytest.Item, float] = {}
        #: Code of a function → the tests that call it.
        self._callers: dict[types.CodeType, set[pytest.Item]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        module = importlib.import_module(str(self._path.with_suffix("")).replace("/", "."))
        defects = defects_of(self._path)
        if os.environ.get("AGAIN"):
            kept = set(json.loads(self._left.read_text("utf-8")))
            defects = [each for each in defects if each.id in kept]
        only = re.compile(os.environ.get("ONLY", ""))
        defects = [each for each in defects if only.search(each.function)]
        every = sample_step()
        defects = defects[every - 1 :: every]
        for each in defects:
            self._callers[each.right(module).__code__] = set()
        for plugin in session.config.pluginmanager.get_plugins():
            if hasattr(plugin, "marked_processes"):
                # Looks for what tests have left running, once for each file and defect.
                plugin.marked_processes = tuple
                plugin.wait_until_gone = lambda *_, **__: []
        self._run_once(session)
        self._plant_all(session, module, defects)
        return True

    def _run_once(self, session: pytest.Session) -> None:
        called: set[types.CodeType] = set()

        def look(frame: types.FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code in self._callers:
                called.add(frame.f_code)

        for item, after in zip(session.items, [*session.items[1:], None], strict=True):
            begun, begun_processor = time.monotonic(), time.process_time()
            called.clear()
            sys.setprofile(look)
            threading.setprofile(look)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            self._seconds[item] = time.monotonic() - begun
            self._processor_seconds[item] = time.process_time() - begun_processor
            for code in called:
                self._callers[code].add(item)
            if self._failed:
                raise pytest.UsageError(f"{self._failed} fails without any defect.")

    def _plant_all(
        self, session: pytest.Session, module: types.ModuleType, defects: list[Defect]
    ) -> None:
        unseen: list[tuple[str, Defect]] = []
        last: dict[str, str] = {}
        begun = time.monotonic()
        for number, defect in enumerate(defects):
            items = sorted(
                self._callers[defect.right(module).__code__],
                # The test that found the defect before this one most likely finds this
                # one too.
                key=lambda item: (item.nodeid != last.get(defect.function), self._seconds[item]),
            )
            if not items:
                unseen.append(("no tests", defect))
                continue
            seen_by = self._look(session, module, defect, items)
            if seen_by:
                last[defect.function] = seen_by
            else:
                unseen.append(("survived", defect))
            if number % 50 == 49:
                rate = (number + 1) / (time.monotonic() - begun)
                print(f"{number + 1} of {len(defects)}, {len(unseen)} unseen, {rate:.1f} a second")
        self._report(defects, unseen)

    def _look(
        self,
        session: pytest.Session,
        module: types.ModuleType,
        defect: Defect,
        items: list[pytest.Item],
    ) -> str:
        """Which test sees the defect; "" if none does."""
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            self._in_child(session, module, defect, items, writes)
        os.close(writes)
        end = time.monotonic() + MORE_SECONDS
        end += PATIENCE * sum(self._seconds[item] for item in items)
        pause = 0.002
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)
        if not ended[0]:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        said = os.read(reads, 4096).decode()
        os.close(reads)
        if ended[0] and os.waitstatus_to_exitcode(ended[1]) == 0:
            return ""
        return said or "time or a crash"

    def _in_child(
        self,
        session: pytest.Session,
        module: types.ModuleType,
        defect: Defect,
        items: list[pytest.Item],
        writes: int,
    ) -> None:
        status = 1
        try:
            os.setpgid(0, 0)
            most = MORE_PROCESSOR_SECONDS
            most += math.ceil(PATIENCE * sum(self._processor_seconds[item] for item in items))
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            session.config.pluginmanager.unregister(name="terminalreporter")
            defect.plant(module)
            for item, after in zip(items, [*items[1:], items[-1]], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self._failed:
                    os.write(writes, self._failed.encode())
                    break
            else:
                status = 0
        finally:
            os._exit(status)

    def _report(self, defects: list[Defect], unseen: list[tuple[str, Defect]]) -> None:
        self._left.write_text(json.dumps([defect.id for _, defect in unseen]), "utf-8")
        untested = sum(kind == "no tests" for kind, _ in unseen)
        figures = (
            f"{len(defects)} defects: {len(defects) - len(unseen)} seen, "
            f"{len(unseen) - untested} survived, {untested} in what no test calls"
        )
        lines = [f"# Planted defects in {self._path} that no test saw", "", f"{figures}.", ""]
        lines.append("```diff")
        for kind, defect in unseen:
            lines += [f"# {defect.function}: {kind}", defect.difference]
        lines += ["```", ""]
        self._survivors.write_text("\n".join(lines), "utf-8")
        print(f"{figures}; these stand in {self._survivors}")


if __name__ == "__main__":
    path, left, survivors, *tests = sys.argv[1:]
    options = ["-q", "-s", "-p", "no:xdist", "-k", "not TestMachine", "-m", "not slow"]
    sys.exit(
        pytest.main(
            [*options, "--hypothesis-profile=as-it-fails", *tests],
            plugins=[Planting(Path(path), Path(left), Path(survivors))],
        )
    )
