"""Makes ``docs/distributed-names.md``: ``python -m spanwise.tests.names_table FILE``."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import distributed

import spanwise
from spanwise.client import distributed_names as names

_HEAD = """# The names of `distributed`

What becomes of each public name of `distributed` {version} when the import is changed to
`spanwise`. Made by `python -m spanwise.tests.names_table docs/distributed-names.md` from the code
of both; a test compares. Absent names of the module, of `Client` and of `LocalCluster` raise an
error that says what is in the last column.

Same means: the same parameters with the same defaults, and no difference that we know of; the
last column names the test, in `spanwise/tests`, that shows it on a real cluster. A parameter that
is ignored may be given, and changes nothing; one that is refused raises `NotImplementedError`
with a sentence, unless it has its default. Tests call each of both.

**Futures within other things.** Futures are inputs when they are arguments, by themselves, in
lists, tuples, sets and dicts, or in a `functools.partial` given to `submit` or `map`. Within a
closure, a default argument or an attribute of an object they are refused with a sentence:
`distributed` sends them along and asks the cluster for their values from within the task, which
holds its thread meanwhile.

**Arguments that a task changes.** Keywords of `submit` and `map` are each task's own, as with
`distributed`, if all of a call take less than 64 KiB as a pickle. Larger ones are there once on
each worker. An object that several calls of one `map` or graph are given by position may be one
object on a worker, also when such a task is run again: do not change it (Dask asks for the same).

**Arguments that nothing can be done with** are an error at the call, which names them and what is
taken: a number where futures are wanted (`replicate(3)`; None and lists of other things are left
to `cancel` and `retry`), what cannot be called, a fraction of a retry, an unknown word
(`run(f, on_error="x")`, `get_task_stream(plot="x")`), a span that is not there
(`profile(span="x")`). `distributed` passes over some of these.

**Names of earlier versions** of the module raise such an error too:

{former}
"""

_MODULE_SKIPPED = {"config", "dask", "widgets"}  # modules
#: Parameters that only `distributed`'s own machinery gives.
_OWN = {"self", "cls"}
#: Keywords of these go to the function, and are not ignored.
_HANDS_ON = {"Client.submit", "Client.map", "Client.run"}

#: By heading: theirs, ours, the names that are absent, what stands before a name.
_OWNERS: dict[str, tuple[Any, Any, Mapping[str, str], str]] = {
    "Module": (distributed, spanwise, names.MODULE, ""),
    "Client": (distributed.Client, spanwise.Client, names.CLIENT, "Client."),
    "LocalCluster": (
        distributed.LocalCluster,
        spanwise.LocalCluster,
        names.LOCAL_CLUSTER,
        "LocalCluster.",
    ),
    "Future": (distributed.Future, spanwise.Future, names.FUTURE, "Future."),
    "as_completed": (
        distributed.as_completed,
        spanwise.as_completed,
        names.AS_COMPLETED,
        "as_completed.",
    ),
}


#: The test that shows a name that is the same on real clusters of both, unless another is named.
_SIDE_BY_SIDE = "test_like_distributed.py::test_a_name_that_is_the_same_answers_the_same"
#: The tests that show such names on a real cluster of ours.
_TESTS: dict[str, dict[str, str]] = {
    "test_cluster_control.py": {
        "test_to_none_and_back": "Client.nthreads",
        "test_as_many_as_the_work_is_worth": "LocalCluster.scale",
    },
    "test_events.py": {
        "test_several_topics_order_and_times": "Client.get_events",
        "test_a_message_arrives_as_with_distributed": "Client.log_event",
        "test_a_handler_gets_what_is_logged_from_then_on": "Client.subscribe_topic "
        "Client.unsubscribe_topic",
    },
    "test_in_tasks.py": {
        "test_attributes_stay_on_the_worker": "get_worker",
    },
    "test_joined_cluster.py": {
        "test_a_guest_may_shut_the_cluster_down": "Client.shutdown",
    },
    "test_like_distributed.py": {
        "test_more_is_found_than_there": "Client.futures_of",
    },
    "test_local_cluster.py": {
        "test_the_cluster_that_a_client_started": "LocalCluster.get_client",
        "test_what_it_says_of_itself": "LocalCluster.scheduler_address",
    },
    "test_logs.py": {
        "test_tasks_print_and_warn_at_the_clients": "print warn",
        "test_a_logger_is_forwarded": "Client.forward_logging Client.unforward_logging",
        "test_what_workers_and_the_scheduler_have_logged": "Client.get_worker_logs",
    },
    "test_plugins.py": {
        "test_uploaded_modules_are_imported_anew": "UploadFile",
        "test_callbacks_and_environ": "Client.register_worker_callbacks",
    },
    "test_scheduler_plugins.py": {
        "test_names_are_given_and_taken": "Client.unregister_scheduler_plugin",
    },
    "test_queries.py": {
        "test_an_alias_has_the_place_of_what_it_stands_for": "Client.has_what Client.who_has",
        "test_asynchronous": "Client.processing",
    },
    "test_shared_state.py": {
        "test_tasks_that_wait_keep_back_no_results": "Event",
    },
    "test_sharing_results.py": {
        "TestFutures::test_in_queues_go_from_tasks_to_clients_and_back": "Queue",
        "TestFutures::test_in_variables_hold_their_tasks": "Variable",
        "TestFireAndForget::test_outlives_its_client": "fire_and_forget",
        "TestDatasets::test_are_there_in_tasks": "Client.get_dataset Client.publish_dataset",
        "TestExecutor::test_runs_calls": "Client.get_executor",
        "TestFutures::test_in_metadata": "Client.get_metadata",
        "TestDatasets::test_stay_when_the_client_that_published_them_has_left": "Client."
        "list_datasets",
        "TestDatasets::test_keep_their_names": "Client.unpublish_dataset",
    },
    "test_tasks_submit.py": {
        "test_a_task_that_always_asks_for_another_run_fails": "Reschedule",
        "test_a_task_that_secedes_gives_its_thread_away_and_gets_one_again": "rejoin",
        "test_a_seceded_task_of_a_worker_that_dies_runs_again": "secede",
        "test_tasks_that_wait_for_their_own_leave_them_the_threads": "worker_client",
    },
}
SHOWN = {
    name: f"{file}::{test}"
    for file, tests in _TESTS.items()
    for test, listed in tests.items()
    for name in listed.split()
}


class Row(NamedTuple):
    """One line of the table."""

    name: str
    verdict: str
    note: str


def public(owner: Any) -> list[str]:
    """Names that do not begin with an underscore, as the class or module has them."""
    found = owner.__all__ if inspect.ismodule(owner) else dir(owner)
    return sorted(name for name in found if not name.startswith("_"))


def rows(theirs: Any, ours: Any, absent: Mapping[str, str], prefix: str) -> Iterator[Row]:
    """Compare the public names of two classes or modules; some absent ones only instances have."""
    for name in sorted({*public(theirs), *absent} - _MODULE_SKIPPED, key=str.casefold):
        full = prefix + name
        if name in absent:
            yield Row(full, "absent", absent[name])
            continue
        notes = list(_differences(getattr(theirs, name), getattr(ours, name), full))
        if full in names.NOTES:
            notes.append(names.NOTES[full])
        if notes:
            yield Row(full, "different", "; ".join(notes))
        else:
            yield Row(full, "same", f"`{shown_by(full)}`")


def shown_by(name: str) -> str:
    """The test that shows a name that is the same."""
    return SHOWN.get(name) or f"{_SIDE_BY_SIDE}[{name}]"


def _differences(theirs: Any, ours: Any, full: str) -> Iterator[str]:
    if not _has_keywords(theirs):
        return
    before, now = _parameters(theirs), _parameters(ours)
    refused = [name for name in before if name in names.REFUSED.get(full, ())]
    if refused:
        yield "refuses " + _listed(refused)
    ignored = _ignored_by(theirs, ours, full)
    if ignored:
        yield "ignores " + _listed(ignored)
    lacking = [name for name in _lacking(before, now) if name not in ignored]
    if lacking:
        yield "without " + _listed(lacking)
    for name, parameter in before.items():
        if name not in now or now[name].default == parameter.default:
            continue
        if "no_default" in repr(parameter.default) or " at 0x" in repr(parameter.default):
            if " at 0x" not in repr(now[name].default):  # (functions that do the same)
                yield f"`{name}={_shown(now[name].default)}`, not what the settings say"
        else:
            yield f"`{name}={_shown(now[name].default)}`, not `{_shown(parameter.default)}`"
    places = [[name for name in _places(each) if name in before] for each in (now, before)]
    if any(mine != other for mine, other in zip(*places, strict=False)):
        yield "parameters in another order"


def ignored() -> Iterator[tuple[str, str]]:
    """Each name that ignores keywords, with each of them."""
    for theirs, ours, absent, prefix in _OWNERS.values():
        for name in public(theirs):
            before = getattr(theirs, name, None)
            if name not in absent and name not in _MODULE_SKIPPED and _has_keywords(before):
                for keyword in _ignored_by(before, getattr(ours, name), prefix + name):
                    yield prefix + name, keyword


def _has_keywords(theirs: Any) -> bool:
    is_error = isinstance(theirs, type) and issubclass(theirs, Exception)
    return callable(theirs) and not is_error


def _ignored_by(theirs: Any, ours: Any, full: str) -> list[str]:
    """Keywords that theirs reads and ours does not, or without effect."""
    before, now = _parameters(theirs), _parameters(ours)
    idle = {*(_unread(ours) - _unread(theirs)), *names.WITHOUT_EFFECT.get(full, ())}
    if full not in _HANDS_ON and any(each.kind is each.VAR_KEYWORD for each in now.values()):
        idle |= {*_lacking(before, now)}
    return [name for name in before if name in idle]


def _lacking(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, each in before.items()
        if name not in now and each.kind is not each.VAR_KEYWORD
    ]


def _unread(function: Any) -> set[str]:
    """Keywords that the code of a function, or of a class's `__init__`, never mentions."""
    made = vars(function).get("__init__") if isinstance(function, type) else function
    if not callable(made):
        return set()
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(made))).body
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    read = {node.id for line in tree.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    return set(_parameters(made)) - read - {"kwargs"}


def _listed(found: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in found)


def _places(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Parameters that can be given by their place."""
    return [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]


def _shown(default: Any) -> str:
    return "…" if default is inspect.Parameter.empty else repr(default)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    found = inspect.signature(function).parameters
    return {name: each for name, each in found.items() if name not in _OWN}


def sections() -> dict[str, list[Row]]:
    """All rows by their heading."""
    return {heading: list(rows(*each)) for heading, each in _OWNERS.items()}


def document() -> str:
    """The whole page."""
    former = "\n".join(f"- `{name}`: {note}" for name, note in names.FORMER.items())
    parts = [_HEAD.format(version=distributed.__version__, former=former)]
    for heading, found in sections().items():
        counts = {
            verdict: sum(row.verdict == verdict for row in found)
            for verdict in ("same", "different", "absent")
        }
        parts.append(f"## {heading}\n")
        parts.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + ".\n")
        lines = [
            "| name | | what differs, what to use instead, or the test that shows it |",
            "| --- | --- | --- |",
        ]
        lines += [
            f"| `{row.name}` | {row.verdict} | {row.note} |".replace("|  |", "| |") for row in found
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), "utf-8")
