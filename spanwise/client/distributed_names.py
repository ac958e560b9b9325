"""Names of `distributed` that Spanwise lacks, and what to use instead.

``docs/distributed-names.md`` is made of this; a test fails when `distributed` has a public
name that is neither here nor in Spanwise.
"""

from __future__ import annotations

from typing import Any

from spanwise.errors import AbsentAttribute, AbsentImport

_LAYER = "nothing to plug in: the scheduler is no Python process"
_PANEL = "open the {} panel"
_NEW = "close() and make a new Client(n_workers=…)"
_TASK = "use submit(): a task's inputs are there when it starts"
_ALONE = "use distributed: Spanwise starts its own processes on this machine"

#: Names of `distributed.Client`, also some that its instances alone have.
CLIENT: dict[str, str] = {
    "adapt": _NEW,
    "amm": "scatter(data, broadcast=True) for copies; otherwise workers keep what is used",
    "as_current": "call this client's own methods; compute() uses the newest client",
    "benchmark_hardware": "run() your own measurement on the workers",
    "call_stack": _PANEL.format("Profile"),
    "cluster": "the client owns its processes: close() ends them",
    "dashboard_link": "open the panels from the Spanwise sidebar",
    "dump_cluster_state": "spans(), fine_metrics() and get_task_stream()",
    "forward_logging": "return what is to be known, or write to a file",
    "futures": "keep the futures that submit(), map() and compute() return",
    "futures_of": "keep the futures that submit(), map() and compute() return",
    "get_dataset": "keep the future or the persisted collection",
    "get_events": "spans() and get_task_stream()",
    "get_executor": "submit() and map() give futures; as_completed() waits for them",
    "get_metadata": "keep it in this process",
    "get_scheduler_logs": "errors of the cluster show the end of its log",
    "get_versions": "workers run this interpreter; see scheduler_info()",
    "get_worker_logs": "workers write to the scheduler's log, whose end errors show",
    "has_what": "open the Task Stream panel and select a worker",
    "list_datasets": "keep the futures or the persisted collections",
    "log_event": "with span(…): names a stretch of code in all panels",
    "loop": "there is no event loop: the client has threads",
    "nbytes": _PANEL.format("Memory Sampler"),
    "normalize_collection": "persist() returns the collection that holds the futures",
    "processing": _PANEL.format("Task Stream"),
    "profile": _PANEL.format("Profile"),
    "publish_dataset": "keep the future or the persisted collection: a cluster has one client",
    "rebalance": "the scheduler takes tasks back from busy workers by itself",
    "register_plugin": "run() a function that prepares the workers",
    "register_worker_callbacks": "run() a function that prepares the workers",
    "replicate": "scatter(data, broadcast=True)",
    "restart": _NEW,
    "restart_workers": _NEW,
    "retire_workers": _NEW,
    "run_coroutine": "run() with an ordinary function",
    "run_on_scheduler": "run(): the scheduler runs no Python",
    "scale": _NEW,
    "scheduler": "scheduler_info(); the scheduler is no Python process",
    "set_metadata": "keep it in this process",
    "shutdown": "close()",
    "start": "Client() starts; await an asynchronous one",
    "story": "open the Task Stream panel and select a task",
    "subscribe_topic": "as_completed()",
    "sync": "asyncio.run() for coroutines of your own",
    "unforward_logging": "return what is to be known, or write to a file",
    "unpublish_dataset": "let go of the future or the persisted collection",
    "unregister_scheduler_plugin": _LAYER,
    "unregister_worker_plugin": "run() a function that undoes what another has prepared",
    "unsubscribe_topic": "as_completed()",
    "upload_file": "put the module beside the notebook: workers use this folder and sys.path",
    "who_has": "open the Task Stream panel and select a task",
    "write_scheduler_file": _ALONE,
}

#: Names of `distributed.Future`.
FUTURE: dict[str, str] = {
    "bind_client": "a future belongs to the client that made it",
    "executor": "client",
}

#: Names of `distributed.as_completed`.
AS_COMPLETED: dict[str, str] = {
    "clear": "make a new as_completed()",
    "condition": "is_empty() and has_ready()",
    "next": "next(as_completed(…))",
}

#: Names of the module `distributed`.
MODULE: dict[str, str] = {
    "Actor": "an object that a worker's module holds, reached by submit(…, workers=…)",
    "ActorFuture": "Future",
    "Adaptive": "Client(n_workers=…)",
    "BaseActorFuture": "Future",
    "CompatibleExecutor": "Client.submit() and Client.map()",
    "CondaInstall": "install into the client's environment: workers run in it",
    "Environ": "set os.environ before Client(): workers get a copy",
    "Event": "pass what has to happen first as an argument: a task waits for its inputs",
    "InstallPlugin": "install into the client's environment: workers run in it",
    "LocalCluster": "Client(n_workers=…, threads_per_worker=…)",
    "Lock": "Client(threads_per_worker=1) and submit(…, workers=0): one at a time",
    "MultiLock": "Client(threads_per_worker=1) and submit(…, workers=0): one at a time",
    "Nanny": "Client(): the scheduler replaces workers that die",
    "NannyPlugin": "Client.run() prepares the workers",
    "PipInstall": "install into the client's environment: workers run in it",
    "Queue": "as_completed(): results in the order in which they come",
    "Reschedule": "submit(…, retries=…)",
    "SSHCluster": _ALONE,
    "Scheduler": _ALONE,
    "SchedulerPlugin": _LAYER,
    "Security": "nothing: every connection is authenticated, and none leaves this machine",
    "Semaphore": "Client(threads_per_worker=…): so many at a time",
    "SpecCluster": "Client(n_workers=…, threads_per_worker=…)",
    "Status": "Client.status is a text",
    "SubprocessCluster": "Client(n_workers=…, threads_per_worker=…)",
    "UploadDirectory": "nothing: workers use this folder and sys.path",
    "UploadFile": "nothing: workers use this folder and sys.path",
    "Variable": "the future itself, passed as an argument",
    "Worker": _ALONE,
    "WorkerPlugin": "Client.run() prepares the workers",
    "connect": _ALONE,
    "fire_and_forget": "keep the future until it is done",
    "futures_of": "keep the futures that submit(), map() and compute() return",
    "get_task_metadata": "Client.get_task_stream()",
    "get_task_stream": "Client.get_task_stream(start=…)",
    "get_worker": "Client.run(lambda dask_worker: …)",
    "local_client": _TASK,
    "performance_report": "Client.spans(), fine_metrics() and the panels",
    "print": "return the text",
    "progress": "dask.diagnostics.ProgressBar with local schedulers; else the Task Stream panel",
    "rejoin": _TASK,
    "rpc": _ALONE,
    "secede": _TASK,
    "sync": "asyncio.run() for coroutines of your own",
    "warn": "warnings.warn(): it goes to the scheduler's log",
    "worker_client": _TASK,
}


#: Names of both whose meaning differs, beyond what the signatures tell.
NOTES: dict[str, str] = {
    "Client": "always starts a cluster of its own on this machine, whose workers use the "
    "client's interpreter, folder and sys.path",
    "Client.cancel": "what depends on the tasks follows a moment later",
    "Client.close": "ends the cluster too",
    "Client.compute": "of an asynchronous client the answer is awaitable all the same",
    "Client.get_task_stream": "records are of Spanwise's own: see its docstring",
    "Client.persist": "spans and results as `distributed`'s; shuffles are always by tasks",
    "Client.run": "workers have no nanny",
    "Client.scatter": "waits until the values are announced; one scatter at a time",
    "Client.scheduler_info": "lists all workers, with fewer figures of each",
    "Client.submit": "a future inside a closure or an object is an error; see above",
    "Client.map": "a future inside a closure or an object is an error; see above",
    "Future.traceback": "a text, the worker's formatted traceback",
    "Future.type": "known once the result has been brought here",
    "KilledWorker": "one argument, a sentence",
    "get_client": "for the process that made the client; tasks cannot submit tasks",
    "span": "is a context manager; as many tags as wanted; survives graph optimisation",
    "wait": "wait([]) needs no client",
}


#: Keywords that raise, each with a value that does. What is taken and never read, the page finds
#: in the code.
REFUSED: dict[str, dict[str, Any]] = {
    "Client": {"address": "tcp://127.0.0.1:8786"},
    "Client.compute": {"resources": {"GPU": 1}},
    "Client.get": {"resources": {"GPU": 1}},
    "Client.get_task_stream": {"plot": True, "filename": "task-stream.html"},
    "Client.map": {"resources": {"GPU": 1}, "actor": True, "actors": True},
    "Client.persist": {"resources": {"GPU": 1}},
    "Client.run": {"nanny": True},
    "Client.submit": {"resources": {"GPU": 1}, "actor": True, "actors": True},
}

#: Keywords that are read and change nothing: there is one client.
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {"Client.cancel": ("force",)}


def absent_attribute(name: str) -> AttributeError:
    """The error of a name that a client lacks."""
    substitute = CLIENT.get(name)
    if substitute is None:
        return AttributeError(f"'Client' object has no attribute {name!r}")
    return AbsentAttribute(
        f"spanwise.Client has no {name} (distributed.Client has). Instead: {substitute}."
    )


def absent_name(name: str, imported: bool) -> AttributeError | ImportError | None:
    """The error of a name of `distributed` that `spanwise` lacks; None for any other.

    Parameters
    ----------
    imported
        By ``from spanwise import name``, not asked for as an attribute.
    """
    substitute = MODULE.get(name)
    if substitute is None:
        return None
    kind = AbsentImport if imported else AbsentAttribute
    return kind(f"spanwise has no {name} (distributed has). Instead: {substitute}.")
