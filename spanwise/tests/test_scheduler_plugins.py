"""Scheduler plugins run in the client's process, and are told what happens in order."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

import spanwise
from spanwise import Client, SchedulerPlugin
from spanwise.client import scheduler_plugins
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.processes import wait_until


def add(a: int, b: int) -> int:
    return a + b


def fail(text: str) -> None:
    raise ValueError(text)


def fail_once_there(path: str) -> None:
    wait_until("it is there", Path(path).exists)
    raise ValueError(path)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


class Notes(SchedulerPlugin):
    """Writes down every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.states: list[tuple[Any, str]] = []
        self.scheduler: Any = None

    def start(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.calls.append(("start", (), {}))

    def transition(self, key: Any, start: str, finish: str, *args: Any, **facts: Any) -> None:
        self.calls.append(("transition", (key, start, finish), facts))
        self.states.append((key, self.scheduler.tasks[key].state))

    def update_graph(self, scheduler: Any, **facts: Any) -> None:
        self.calls.append(("update_graph", (), facts))

    def add_worker(self, scheduler: Any, worker: str) -> None:
        assert worker in scheduler.workers
        self.calls.append(("add_worker", (worker,), {}))

    def remove_worker(self, scheduler: Any, worker: str, **facts: Any) -> None:
        assert worker not in scheduler.workers
        self.calls.append(("remove_worker", (worker,), facts))

    def add_client(self, scheduler: Any, client: str) -> None:
        self.calls.append(("add_client", (client,), {}))

    def remove_client(self, scheduler: Any, client: str) -> None:
        self.calls.append(("remove_client", (client,), {}))

    def restart(self, scheduler: Any) -> None:
        self.calls.append(("restart", (), {}))

    async def log_event(self, topic: str, msg: Any) -> None:
        await asyncio.sleep(0)
        self.calls.append(("log_event", (topic, msg), {}))

    async def before_close(self) -> None:
        self.calls.append(("before_close", (), {}))

    async def close(self) -> None:
        self.calls.append(("close", (), {}))

    def of(self, hook: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(args, facts) for name, args, facts in self.calls if name == hook]

    def path(self, key: Any) -> list[str]:
        """The states that a task has been in."""
        moves = [args[1:] for args, _ in self.of("transition") if args[0] == key]
        for before, after in itertools.pairwise(moves):
            assert before[1] == after[0]
        return [moves[0][0], *(finish for _, finish in moves)]


def test_the_thread_is_the_one_that_ran_it_also_of_tasks_that_have_left_it() -> None:
    """One after another they go on in a lane that another thread had before."""

    def leaves() -> int:
        spanwise.secede()
        return threading.get_ident()

    with Client(n_workers=1, threads_per_worker=1) as client:
        notes = Notes()
        client.register_plugin(notes, name="notes")
        ran = {}
        for number in range(6):
            ran[f"leaves-{number}"] = client.submit(leaves, key=f"leaves-{number}").result()
        client.unregister_scheduler_plugin("notes")
        told = {
            args[0]: facts["thread"]
            for args, facts in notes.of("transition")
            if args[1:] == ("processing", "memory")
        }
        assert told == ran and len({*ran.values()}) > 1


def test_transitions_come_in_order_with_what_is_known(client: Client) -> None:
    notes = Notes()
    assert client.register_plugin(notes, name="notes") is None
    assert set(notes.scheduler.workers) == set(client.scheduler_info()["workers"])
    first = client.submit(add, 1, 2, key="first")
    second = client.submit(add, first, 3, key=("second", 0))
    bad = client.submit(fail, "no", key="bad")
    after = client.submit(add, bad, 1, key="after")
    spanwise.wait([second, after])
    client.unregister_scheduler_plugin("notes")
    assert notes.path("first") == ["released", "waiting", "processing", "memory"]
    assert notes.path(("second", 0)) == ["released", "waiting", "processing", "memory"]
    assert notes.path("bad") == ["released", "waiting", "processing", "erred"]
    assert notes.path("after")[-2:] == ["released", "erred"]
    moves = notes.of("transition")
    assert [state for _, state in notes.states] == [args[2] for args, _ in moves]
    facts = {args[0]: facts for args, facts in notes.of("transition") if args[1] == "processing"}
    good = facts["first"]
    assert good["worker"] in notes.scheduler.workers
    assert good["typename"] == "int" and good["nbytes"] > 0 and isinstance(good["thread"], int)
    (part,) = [each for each in good["startstops"] if each["action"] == "compute"]
    assert part["start"] <= part["stop"]
    wrong = facts["bad"]
    assert isinstance(wrong["exception"], ValueError) and wrong["cause"] == "bad"
    assert "fail" in wrong["traceback_text"] and wrong["exception_text"] == "ValueError('no')"
    (failed,) = [facts for args, facts in moves if args[0] == "after" and args[2] == "erred"]
    assert failed["cause"] == "bad" and "exception" not in failed
    graphs = {next(iter(facts["keys"])): facts for _, facts in notes.of("update_graph")}
    assert set(graphs["first"]["tasks"]) == {"first"}
    assert set(graphs["second", 0]["tasks"]) == {"first", ("second", 0)}
    assert notes.scheduler.tasks["second", 0].dependencies == {notes.scheduler.tasks["first"]}


def test_members_graphs_and_events_are_told(client: Client) -> None:
    notes = Notes()
    client.register_plugin(notes, name="members")
    client.log_event("mine", {"a": 1})
    future = client.submit(add, 1, 2, priority=3, retries=2, key="urgent", pure=False)
    future.result()
    with Client(client.cluster.scheduler_address, set_as_default=False):
        wait_until("another client", lambda: notes.of("add_client"))
    wait_until("its end", lambda: notes.of("remove_client"))
    first = next(iter(client.scheduler_info()["workers"]))
    client.restart_workers([first])
    wait_until("the worker's end", lambda: notes.of("remove_worker"))
    wait_until("another worker", lambda: notes.of("add_worker"))
    client.unregister_scheduler_plugin("members")
    ((came, _),) = notes.of("add_client")
    ((gone, _),) = notes.of("remove_client")
    assert came == gone
    ((left, facts),) = notes.of("remove_worker")
    assert left == (first,) and isinstance(facts["stimulus_id"], str)
    assert notes.of("restart")
    logged = [args for args, _ in notes.of("log_event")]
    assert ("mine", {"a": 1}) in logged
    # The scheduler's own events too, once for each of their topics, as in `distributed`.
    assert ("all", {"action": "add-client", "client": came[0]}) in logged
    assert (came[0], {"action": "remove-client", "client": came[0]}) in logged
    assert "remove-worker" in [msg["action"] for topic, msg in logged if topic == first]
    submitted = [msg for topic, msg in logged if topic == "scheduler"]
    assert submitted and all(msg["action"] == "update-graph" for msg in submitted)
    graph = next(facts for _, facts in notes.of("update_graph") if "urgent" in facts["tasks"])
    assert graph["annotations"]["priority"] == {"urgent": 3}
    assert graph["annotations"]["retries"] == {"urgent": 2}
    assert graph["priority"]["urgent"][0] == -3
    # Nothing is told any more.
    calls = len(notes.calls)
    client.submit(add, 3, 4, pure=False).result()
    assert len(notes.calls) == calls


HOOKS: dict[str, Callable[[Client], Any]] = {
    "transition": lambda client: client.submit(add, 1, 5, pure=False).result(),
    "update_graph": lambda client: client.submit(add, 1, 5, pure=False).result(),
    "log_event": lambda client: client.log_event("thrown", 1),
    "restart": lambda client: client.restart_workers([*client.scheduler_info()["workers"]][:1]),
    "add_client": lambda client: another(client),
    "remove_client": lambda client: another(client),
}


def another(client: Client) -> None:
    """A client that comes and goes."""
    with Client(client.cluster.scheduler_address, set_as_default=False):
        pass


@pytest.mark.parametrize("hook", HOOKS)
def test_a_plugin_that_throws_is_told_of_and_removed(client: Client, hook: str) -> None:
    def throws(self: Any, *args: Any, **kwargs: Any) -> None:
        raise SystemExit(f"{hook} is wrong")

    wrong = type("Wrong", (SchedulerPlugin,), {hook: throws})()
    good = Notes()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        # Within: results of earlier tests may be released meanwhile, which are moves too.
        client.register_plugin(good, name="good")
        client.register_plugin(wrong, name="wrong")
        HOOKS[hook](client)
        wait_until("it is told", lambda: [each for each in told if "wrong" in str(each.message)])
    (said,) = [str(each.message) for each in told if "wrong" in str(each.message)]
    assert f"failed in {hook}()" in said and f"SystemExit: {hook} is wrong" in said
    with pytest.raises(ValueError, match="no scheduler plugin 'wrong'"):
        client.unregister_scheduler_plugin("wrong")
    future = client.submit(add, 2, 5, pure=False)
    assert future.result() == 7
    client.unregister_scheduler_plugin("good")
    assert notes_have(good, future.key)


def notes_have(notes: Notes, key: Any) -> bool:
    return notes.path(key)[-1] in ("memory", "released", "forgotten")


def test_a_start_that_throws_is_raised_and_the_plugin_not_added(client: Client) -> None:
    class Wrong(SchedulerPlugin):
        name = "never"

        async def start(self, scheduler: Any) -> None:
            raise KeyError("no")

    with pytest.raises(KeyError):
        client.register_plugin(Wrong())
    with pytest.raises(ValueError, match="never"):
        client.unregister_scheduler_plugin("never")
    assert client.submit(add, 3, 5, pure=False).result() == 8


def test_names_are_given_and_taken(client: Client) -> None:
    class Named(Notes):
        name = "named"
        idempotent = True

    first, second = Named(), Named()
    client.register_plugin(first)
    client.register_plugin(second)
    assert second.scheduler is None
    client.submit(add, 4, 5, pure=False).result()
    client.unregister_scheduler_plugin("named")
    assert first.of("transition")
    with pytest.raises(ValueError):
        client.unregister_scheduler_plugin("named")


def test_a_plugin_of_distributed_is_taken(client: Client) -> None:
    class Theirs(distributed.SchedulerPlugin):  # type: ignore[misc]
        def __init__(self) -> None:
            self.moves: list[Any] = []

        def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
            self.moves.append((key, start, finish))

    theirs = Theirs()
    client.register_plugin(theirs, name="theirs")
    future = client.submit(add, 5, 5, pure=False)
    future.result()
    client.unregister_scheduler_plugin("theirs")
    assert (future.key, "processing", "memory") in theirs.moves


def test_q17_failed_tasks_arrive_and_two_plugins_hear_the_same(client: Client) -> None:
    one, two = Notes(), Notes()
    client.register_plugin(one, name="one")
    client.register_plugin(two, name="two")
    future = client.submit(fail, "q17", pure=False)
    spanwise.wait(future)
    client.unregister_scheduler_plugin("one")
    client.unregister_scheduler_plugin("two")
    assert one.path(future.key)[:4] == ["released", "waiting", "processing", "erred"]
    shared = [args for args, _ in two.of("transition") if args[0] == future.key]
    assert shared == [args for args, _ in one.of("transition") if args[0] == future.key]


def test_what_is_slower_than_its_news_is_removed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_plugins, "MOST_WAITING", 50)
    go = threading.Event()

    class Slow(SchedulerPlugin):
        def transition(self, *args: Any, **kwargs: Any) -> None:
            go.wait(60)

    client.register_plugin(Slow(), name="slow")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        total = client.submit(sum, client.map(add, range(50), range(50), pure=False)).result()
        client.submit(add, 0, 0, pure=False).result()
        go.set()
        wait_until("it is told", lambda: [each for each in told if "slower" in str(each.message)])
    assert total == 2 * sum(range(50))
    # Others may be registered afterwards.
    monkeypatch.undo()
    notes = Notes()
    client.register_plugin(notes, name="afterwards")
    future = client.submit(add, 6, 5, pure=False)
    future.result()
    client.unregister_scheduler_plugin("afterwards")
    assert notes_have(notes, future.key)


def test_one_that_comes_while_the_last_fails_is_told_what_happens(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = client._session.scheduler_plugins
    fails, go = threading.Event(), threading.Event()

    def tell(sentence: str) -> None:
        fails.set()
        go.wait(60)

    class Wrong(SchedulerPlugin):
        def update_graph(self, *args: Any, **kwargs: Any) -> None:
            raise KeyError("no")

    monkeypatch.setattr(scheduler_plugins, "tell", tell)
    client.register_plugin(Wrong(), name="wrong")
    client.submit(add, 1, 6, pure=False).result()
    wait_until("it fails", fails.is_set)
    notes = Notes()
    coming = threading.Thread(target=client.register_plugin, args=(notes, "next"))
    coming.start()
    wait_until("the next one waits", lambda: not plugins._queue.empty())
    go.set()
    coming.join(60)
    future = client.submit(add, 2, 6, pure=False)
    future.result()
    client.unregister_scheduler_plugin("next")
    assert notes.path(future.key)[-1] == "memory"


def test_a_hook_registers_while_others_do(client: Client) -> None:
    notes, has_begun, go = Notes(), threading.Event(), threading.Event()

    class Adds(SchedulerPlugin):
        def update_graph(self, *args: Any, **kwargs: Any) -> None:
            if not has_begun.is_set():
                has_begun.set()
                go.wait(60)
                client.register_plugin(notes, name="of-a-hook")

    client.register_plugin(Adds(), name="adds")
    future = client.submit(add, 3, 6, pure=False)
    wait_until("the hook", has_begun.is_set)
    plugins = client._session.scheduler_plugins
    other = threading.Thread(target=client.register_plugin, args=(Notes(), "other"))
    other.start()
    wait_until("the other one waits", lambda: _is_held(plugins))
    go.set()
    other.join(60)
    assert not other.is_alive()
    assert future.result() == 9
    for name in ("adds", "other", "of-a-hook"):
        client.unregister_scheduler_plugin(name)
    assert notes.of("transition")


def _is_held(plugins: Any) -> bool:
    """Whether another thread changes them."""
    if plugins._changing.acquire(blocking=False):
        plugins._changing.release()
        return False
    return True


class Unspeakable(Exception):
    def __repr__(self) -> str:
        raise OSError("no words")


def be_unspeakable() -> None:
    raise Unspeakable("of it")


def test_an_exception_without_words_is_told_all_the_same(client: Client) -> None:
    notes = Notes()
    client.register_plugin(notes, name="words")
    future = client.submit(be_unspeakable, pure=False)
    spanwise.wait(future)
    client.unregister_scheduler_plugin("words")
    (facts,) = [facts for args, facts in notes.of("transition") if args[1:] == DONE_WRONG]
    assert isinstance(facts["exception"], Unspeakable)
    assert facts["exception_text"] == "Unspeakable: of it"


DONE_WRONG = ("processing", "erred")


class Paths(SchedulerPlugin):
    """Holds each move against the one before it, and keeps nothing else: there are many."""

    def __init__(self) -> None:
        self.now: dict[Any, str] = {}
        self.wrong: list[tuple[Any, str, str, str]] = []
        self.moves = 0
        self.submitted: set[Any] = set()

    def transition(self, key: Any, start: str, finish: str, *args: Any, **facts: Any) -> None:
        self.moves += 1
        before = self.now.get(key, "released")
        if before != start:
            self.wrong.append((key, before, start, finish))
        self.now[key] = finish

    def update_graph(self, scheduler: Any, *, tasks: list[Any], **facts: Any) -> None:
        self.submitted.update(tasks)


def test_twenty_thousand_tasks_are_told_in_order(client: Client) -> None:
    paths = Paths()
    client.register_plugin(paths, name="many")
    futures = client.map(add, range(20_000), range(20_000), pure=False)
    spanwise.wait(futures)
    client.unregister_scheduler_plugin("many")
    keys = {future.key for future in futures}
    # (tasks of earlier tests were where they were before it came)
    assert [each for each in paths.wrong if each[0] in keys] == []
    assert {paths.now[key] for key in keys} == {"memory"}
    assert keys <= paths.submitted
    # Each goes from released by waiting and processing to memory.
    assert paths.moves >= 3 * len(futures)


def test_the_end_of_the_client_is_told_last() -> None:
    notes = Notes()
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        client.register_plugin(notes)
        future = client.submit(add, 1, 1)
        future.result()
    assert [name for name, *_ in notes.calls[-2:]] == ["before_close", "close"]
    # (a client that is late hears, too, how the worker leaves and takes its result with it)
    assert "memory" in notes.path(future.key)


class Recorder(distributed.SchedulerPlugin):  # type: ignore[misc]
    """Writes the moves into a file, since `distributed` calls a copy of it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def update_graph(self, scheduler: Any, *, keys: Any, tasks: Any, **facts: Any) -> None:
        self.write("update_graph", sorted(map(str, keys)), sorted(map(str, tasks)))

    def transition(self, key: Any, start: str, finish: str, *args: Any, **facts: Any) -> None:
        facts.pop("stimulus_id")
        kinds = {name: type(value).__name__ for name, value in facts.items()}
        actions = [part["action"] for part in facts.get("startstops") or ()]
        self.write("transition", str(key), start, finish, kinds, actions, str(facts.get("cause")))

    def write(self, *said: Any) -> None:
        with Path(self.path).open("a") as file:
            file.write(json.dumps(said) + "\n")


def recorded(client: Any, path: Path, wait: Any) -> list[list[Any]]:
    """A good task, one of a good one, one that fails, and one that fails because of it."""
    path.touch()
    client.register_plugin(Recorder(str(path)), name="recorder")
    first = client.submit(add, 1, 2, key="first")
    second = client.submit(add, first, 3, key="second")
    # (not before what needs it waits for it: it would fail without having waited)
    known = path.with_suffix(".known")
    bad = client.submit(fail_once_there, str(known), key="bad")
    after = client.submit(add, bad, 1, key="after")

    def lines() -> list[list[Any]]:
        # (the last one may not be whole yet)
        whole = path.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    wait_until("it waits", lambda: any(each[1:4:2] == ["after", "waiting"] for each in lines()))
    known.touch()
    wait([second, after])
    del first, second, bad, after
    gone = {"first", "second", "bad", "after"}
    wait_until(
        "all are forgotten",
        lambda: gone <= {each[1] for each in lines() if each[3:4] == ["forgotten"]},
    )
    client.unregister_scheduler_plugin("recorder")
    return lines()


def test_moves_and_facts_are_those_of_distributed(client: Client, tmp_path: Path) -> None:
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as theirs:
        wanted = recorded(theirs, tmp_path / "theirs", distributed.wait)
    found = recorded(client, tmp_path / "ours", spanwise.wait)
    assert graphs_of(found) == graphs_of(wanted)
    for key in ("first", "second", "bad", "after"):
        assert path_of(found, key) == path_of(wanted, key)
    ours, theirs_facts = facts_of(found), facts_of(wanted)
    assert ours.keys() == theirs_facts.keys() == {"first", "second", "bad"}
    for key, kinds in theirs_facts.items():
        assert ours[key].keys() == kinds.keys()
        # The exception itself, and not a pickle of it.
        opened = {"exception", "traceback"}
        assert {name: kind for name, kind in ours[key].items() if name not in opened} == {
            name: kind for name, kind in kinds.items() if name not in opened
        }


def graphs_of(said: list[list[Any]]) -> list[Any]:
    return [each[1:] for each in said if each[0] == "update_graph"]


def path_of(said: list[list[Any]], key: str) -> list[Any]:
    """The moves of a task; a result goes at once or on its way to be forgotten."""
    moves = [each for each in said if each[0] == "transition" and each[1] == key]
    path: list[Any] = []
    for _, _, start, finish, _, actions, cause in moves:
        # Spanwise measures more actions, and says more of what an input has made fail.
        done = [action for action in actions if action in ("compute", "transfer")]
        told = cause if start == "processing" else "None"
        if path and path[-1][:2] == ("memory", "released") and finish == "forgotten":
            path[-1] = ("memory", "forgotten", [], "None")
        elif path and path[-1][:2] == ("waiting", "processing") and finish == "waiting":
            path.pop()  # (given to a worker with its input, which failed)
        else:
            path.append((start, finish, done, told))
    return path


def facts_of(said: list[list[Any]]) -> dict[str, dict[str, str]]:
    """Names and types of what is told of the runs that ended."""
    moves = [each for each in said if each[0] == "transition" and each[2] == "processing"]
    return {key: kinds for _, key, _, finish, kinds, *_ in moves if finish in ("memory", "erred")}


MODULE = """
import { writeFileSync } from 'node:fs';
export default ({ file }) => {
  const moves = [];
  return {
    transition(key, start, finish, facts) {
      moves.push({ key, start, finish, ...facts });
    },
    updateGraph({ keys, tasks }) {
      moves.push({ keys, tasks: [...tasks] });
    },
    close() {
      writeFileSync(file, JSON.stringify(moves));
    }
  };
};
export const wrong = { transition() { throw new Error('wrong indeed'); } };
export const late = { async transition() { await null; throw new Error('wrong later'); } };
export const end = { async close() { await null; throw new Error('wrong at the end'); } };
export const none = 7;
"""


def test_a_module_is_told_in_the_schedulers_process(client: Client, tmp_path: Path) -> None:
    module, file = tmp_path / "plugin.mjs", tmp_path / "moves.json"
    module.write_text(MODULE)
    plugin = spanwise.ModulePlugin(module, options={"file": str(file)})
    client.register_plugin(plugin, name="module")
    future = client.submit(add, 7, 8, key="of-module")
    bad = client.submit(fail, "no", key="bad-of-module")
    spanwise.wait([future, bad])
    client.unregister_scheduler_plugin("module")
    said = json.loads(file.read_text())
    moves = [(each["start"], each["finish"]) for each in said if each.get("key") == future.key]
    assert moves[:3] == [
        ("released", "waiting"),
        ("waiting", "processing"),
        ("processing", "memory"),
    ]
    done = next(each for each in said if each.get("finish") == "memory")
    assert done["typename"] == "builtins:int" and done["nbytes"] > 0
    assert done["worker"] in client.scheduler_info()["workers"]
    failed = next(each for each in said if each.get("finish") == "erred")
    assert failed["exceptionText"] == "ValueError: no" and failed["cause"] == bad.key
    assert {"keys": [future.key], "tasks": [[future.key, []]]} in said
    with pytest.raises(ValueError, match="no scheduler plugin 'module'"):
        client.unregister_scheduler_plugin("module")


def test_a_module_that_is_wrong_is_told_of_and_the_cluster_goes_on(
    client: Client, tmp_path: Path
) -> None:
    module = tmp_path / "plugin.mjs"
    with pytest.raises(ValueError, match="absolute"):
        spanwise.ModulePlugin("plugin.mjs")
    with pytest.raises(spanwise.ClusterError, match=r"plugin\.mjs was not loaded"):
        client.register_plugin(spanwise.ModulePlugin(module))
    module.write_text(MODULE)
    with pytest.raises(spanwise.ClusterError, match='export "none" is no plugin'):
        client.register_plugin(spanwise.ModulePlugin(module, "none"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client.register_plugin(spanwise.ModulePlugin(module, "wrong"), name="wrong")
        assert client.submit(add, 8, 8, pure=False).result() == 16
        wait_until("it is told", lambda: [w for w in told if "wrong indeed" in str(w.message)])
    assert client.submit(add, 9, 8, pure=False).result() == 17
    with pytest.raises(ValueError, match="wrong"):
        client.unregister_scheduler_plugin("wrong")


def test_what_a_module_throws_later_is_told_of_and_the_cluster_goes_on(
    client: Client, tmp_path: Path
) -> None:
    module = tmp_path / "plugin.mjs"
    module.write_text(MODULE)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client.register_plugin(spanwise.ModulePlugin(module, "late"), name="late")
        assert client.submit(add, 10, 8, pure=False).result() == 18
        wait_until("it is told", lambda: [w for w in told if "wrong later" in str(w.message)])
        client.register_plugin(spanwise.ModulePlugin(module, "end"), name="end")
        client.unregister_scheduler_plugin("end")
        wait_until("it is told", lambda: [w for w in told if "wrong at the end" in str(w.message)])
    assert client.submit(add, 11, 8, pure=False).result() == 19
    with pytest.raises(ValueError, match="late"):
        client.unregister_scheduler_plugin("late")


def test_the_example_counts_moves(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    module = CHECKOUT / "examples" / "count-transitions.mjs"
    client.register_plugin(spanwise.ModulePlugin(module, options={"file": str(file)}), "counts")
    spanwise.wait(client.map(add, range(20), range(20), pure=False))
    client.unregister_scheduler_plugin("counts")
    assert json.loads(file.read_text())["processing → memory"] >= 20


PLAIN_MODULE = """
import { writeFileSync } from 'node:fs';
const keys = [];
export default {
  transition(key) { keys.push(key); },
  close() { writeFileSync(new URL('keys.json', import.meta.url), JSON.stringify(keys)); }
};
"""


def test_modules_of_the_setting_are_loaded_at_the_start(tmp_path: Path) -> None:
    module = tmp_path / "plugin.mjs"
    module.write_text(PLAIN_MODULE)
    with (
        dask.config.set({"spanwise.scheduler.plugins": [str(module)]}),
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client,
    ):
        future = client.submit(add, 1, 2, key="of-the-setting")
        assert future.result() == 3
        client.unregister_scheduler_plugin(str(module))
        assert "of-the-setting" in json.loads((tmp_path / "keys.json").read_text())


@pytest.mark.parametrize("given", [5, [5], ["plugin.mjs"]], ids=str)
def test_a_setting_of_modules_that_is_none_is_named(given: Any) -> None:
    with (
        dask.config.set({"spanwise.scheduler.plugins": given}),
        pytest.raises(ValueError, match=r"spanwise\.scheduler\.plugins"),
    ):
        Client(n_workers=1, set_as_default=False)


def test_a_cluster_whose_module_is_not_there_is_not_started(tmp_path: Path) -> None:
    with (
        dask.config.set({"spanwise.scheduler.plugins": [str(tmp_path / "none.mjs")]}),
        pytest.raises(spanwise.ClusterError, match=r"none\.mjs was not loaded"),
    ):
        Client(n_workers=1, set_as_default=False)


def test_a_module_that_is_never_loaded_ends_the_start_in_time(tmp_path: Path) -> None:
    module = tmp_path / "waits.mjs"
    module.write_text("await new Promise(() => { setInterval(() => {}, 1000); });")
    with (
        dask.config.set({"spanwise.scheduler.plugins": [str(module)]}),
        pytest.raises(TimeoutError),
    ):
        Client(n_workers=1, set_as_default=False, timeout=2)
