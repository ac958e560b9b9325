"""Names of `distributed` that Spanwise lacks, and what to use instead.

``docs/distributed-names.md`` is made of this; a test fails when `distributed` has a public
name that is neither here nor in Spanwise.
"""

from __future__ import annotations

from typing import Any

from spanwise.errors import AbsentAttribute, AbsentImport

_ALONE = "use distributed: Spanwise starts its own processes on this machine"
_SECRET = "nothing to set: connections are authenticated by the cluster's secret"
_COROUTINES = "for coroutines of your own: await in a notebook, asyncio.run() in a script"
_AGAIN = "call the function here: the exception's traceback shows the task's frames"

#: Names of `distributed.Client`, also some that its instances alone have.
CLIENT: dict[str, str] = {
    "amm": "replicate() makes and drops copies; otherwise workers keep what is used",
    "benchmark_hardware": "run() your own measurement on the workers",
    "connection_args": _SECRET,
    "direct_to_workers": "results always come from the workers themselves",
    "extensions": "register_plugin(), for workers",
    "generation": "status of a future: restart() cancels all",
    "loop": "there is no event loop: the client has threads",
    "normalize_collection": "persist() returns the collection that holds the futures",
    "preloads": "register_plugin(), for workers",
    "recreate_error_locally": _AGAIN,
    "recreate_task_locally": _AGAIN,
    "refcount": "futures has the keys that the client holds",
    "rpc": "scheduler_info(); the scheduler is no Python process",
    "run_on_scheduler": "run(): the scheduler runs no Python",
    "scheduler": "scheduler_info(); the scheduler is no Python process",
    "scheduler_comm": "scheduler_info(); the scheduler is no Python process",
    "scheduler_file": "write_scheduler_file(), or the path that was given",
    "security": _SECRET,
    "sync": _COROUTINES,
}

#: Names of `distributed.LocalCluster`, also those that its instances alone have.
LOCAL_CLUSTER: dict[str, str] = {
    "called_from_running_loop": "there is no event loop: the cluster has threads",
    "from_name": "keep the cluster's object: it ends with its process",
    "get_logs": "errors of the cluster show the end of its log",
    "loop": "there is no event loop: the cluster has threads",
    "new_spec": "LocalCluster(threads_per_worker=…, memory_limit=…)",
    "new_worker_spec": "LocalCluster(threads_per_worker=…, memory_limit=…)",
    "observed": "workers",
    "periodic_callbacks": "there is no event loop: the cluster has threads",
    "plan": "workers",
    "processes": "its workers are always processes",
    "quiet": "filters of the module warnings",
    "requested": "workers",
    "scale_down": "scale(n)",
    "scale_up": "scale(n)",
    "scheduler": "scheduler_info and scheduler_address; the scheduler is no Python process",
    "scheduler_comm": "scheduler_address; the scheduler is no Python process",
    "scheduler_spec": "scheduler_info; the scheduler is no Python process",
    "security": _SECRET,
    "shutdown_on_close": "close() ends the cluster; closing a client of it does not",
    "shutdown_scheduler": "close() ends the cluster; closing a client of it does not",
    "start_worker": "scale(n)",
    "sync": _COROUTINES,
    "worker_spec": "workers, which says what each has",
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
    "Adaptive": "Client.adapt(…)",
    "BaseActorFuture": "Future",
    "CompatibleExecutor": "Client.submit() and Client.map()",
    "CondaInstall": "install into the client's environment: workers run in it",
    "InstallPlugin": "install into the client's environment: workers run in it",
    "Nanny": "Client(): the scheduler replaces workers that die",
    "NannyPlugin": "Client.run() prepares the workers",
    "SSHCluster": _ALONE,
    "Scheduler": _ALONE,
    "SpecCluster": "Client(n_workers=…, threads_per_worker=…)",
    "Status": "Client.status is a text",
    "SubprocessCluster": "Client(n_workers=…, threads_per_worker=…)",
    "Worker": _ALONE,
    "connect": _ALONE,
    "rpc": _ALONE,
    "sync": _COROUTINES,
}


#: Names that the module `distributed` has no more.
FORMER: dict[str, str] = {
    "Pub": "Client.log_event(topic, message), or a Queue",
    "Sub": "Client.subscribe_topic(topic, handler), or a Queue",
}

_WAITS_FOR_WORKERS = "takes 0, and at most 1,024; looks once with `timeout=0`"
#: Names of both libraries that differ in more than their signatures, and how.
NOTES: dict[str, str] = {
    "Client": "starts a cluster of its own on this machine unless it is given one, whose "
    "workers use the client's interpreter, folder and sys.path; addresses are Spanwise's own",
    "Client.cancel": "what depends on the tasks follows a moment later",
    "Client.compute": "of an asynchronous client the answer is awaitable all the same",
    "Client.get_task_stream": "in the order of start; of errors and tracebacks the texts, not the "
    "exceptions; a run that was lost with its worker is there too; the picture is a page of "
    "Spanwise's own; see task-records.md",
    "Client.profile": "functions at which samples end are counted; `server` is by CPU time; "
    "`scheduler` begins with the first such question, and its root has `since`; the picture is a "
    "page of Spanwise's own; see profile.md",
    "Client.persist": "spans and results as `distributed`'s; shuffles are always by tasks",
    "Client.run": "workers have no nanny",
    "Client.restart": "`timeout` counts for the workers that come",
    "Client.retire_workers": "what runs there has ten seconds to end",
    "Client.dump_cluster_state": "writes JSON, without values; of tasks, this client's states",
    "Client.get_scheduler_logs": "lines of the scheduler's log, without levels, and what tasks "
    "printed",
    "Client.rebalance": "evens out the results of this client, not the memory of processes",
    "Client.replicate": "waits for what is not done yet; what a task needs is not dropped",
    "Client.scatter": "waits until the values are announced; one scatter at a time",
    "Client.scheduler_info": "some figures of workers are empty: docs/system.md; "
    "`nanny` is None, `services` is empty",
    "Client.as_current": "for all threads, not for the one that enters it",
    "Client.call_stack": "of tasks that run; what others wait for is not looked up",
    "Client.dashboard_link": "of the JupyterLab whose sidebar has the panels; else a sentence",
    "Client.start": "of a client that was awaited, or is not asynchronous, does nothing",
    "Client.get_versions": "the scheduler has no packages but `spanwise`",
    "Client.nbytes": "of results in memory only",
    "Client.story": "the scheduler's alone, of keys that this client holds",
    "Client.register_plugin": "for workers, and for plugins that watch the scheduler from here; "
    "one whose `setup` fails is not kept",
    "SchedulerPlugin": "runs in the client's process, see docs/scheduler-plugins.md; "
    "`valid_workers_downscaling` is never called",
    "Client.wait_for_workers": _WAITS_FOR_WORKERS,
    "Client.write_scheduler_file": "for Spanwise's own clients; as often as wanted",
    "Client.upload_file": "a file of the same name takes the place of the one before",
    "Environ": "sets the variables of running workers: what has read one before keeps it",
    "PipInstall": "installs once: the workers share the client's environment",
    "WorkerPlugin": "`transition` is never called",
    "Client.submit": "a future inside a closure or an object is an error; see above",
    "Client.map": "a future inside a closure or an object is an error; see above",
    "Future.type": "known once the result has been brought here",
    "Client.set_metadata": "stays when the task of that key is forgotten",
    "LocalCluster.adapt": "the policy has no other settings; see cluster.md",
    "LocalCluster.close": "closes its clients too",
    "LocalCluster.wait_for_workers": _WAITS_FOR_WORKERS,
    "LocalCluster.dashboard_link": "of the JupyterLab whose sidebar has the panels; else a "
    "sentence",
    "MultiLock": "free at once when the process that holds it ends; those that ask for some of "
    "the names get whichever are free",
    "Security": "connections are authenticated by the cluster's secret, and stay on this machine; "
    "certificates are kept and not used, which a warning says",
    "UploadDirectory": "for workers alone; a word to skip is compared with names below the folder",
    "KilledWorker": "one argument, a sentence",
    "Lock": "held while its process lives, however busy; free at once when that ends",
    "Semaphore": "leases are held while their process lives; free at once when that ends",
    "get_client": "one for all code of a worker, which `close()` leaves open",
    "get_task_metadata": "of the tasks that end in the block, whenever they were submitted; "
    "`metadata` is empty",
    "get_task_stream": "as `Client.get_task_stream`",
    "performance_report": "a page of Spanwise's own, of the block's time by the scheduler's clock; "
    "the scheduler's profile only if it is looked at; see performance-report.md",
    "progress": "shows its bars wherever it stands in a cell, also without ipywidgets; tells "
    "failed, lost and cancelled tasks apart; a terminal keeps its last line",
    "span": "is a context manager; as many tags as wanted; survives graph optimisation",
    "futures_of": "looks into named tuples and frozen sets too",
    "wait": "wait([]) needs no client; takes iterators of futures too; refuses what is neither "
    "future nor collection",
}


#: Keywords that raise, each with a value that does. Keywords that are taken and never read are
#: found in the code.
REFUSED: dict[str, dict[str, Any]] = {
    "Client.unregister_worker_plugin": {"nanny": True},
    "PipInstall": {"restart_workers": True},
    "UploadDirectory": {"restart_workers": True},
    "LocalCluster.adapt": {"Adaptive": object},
    "Client.map": {"actor": True, "actors": True},
    "Client.run": {"nanny": True},
    "Client.submit": {"actor": True, "actors": True},
}

#: Keywords that are read and change nothing: clients share no futures.
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {"Client.cancel": ("force",)}


def absent_attribute(name: str, owner: str = "Client") -> AttributeError:
    """The error of a name that a client, or a cluster, lacks."""
    substitute = (CLIENT if owner == "Client" else LOCAL_CLUSTER).get(name)
    if substitute is None:
        return AttributeError(f"{owner!r} object has no attribute {name!r}")
    return AbsentAttribute(
        f"spanwise.{owner} has no {name} (distributed.{owner} has). Instead: {substitute}."
    )


def absent_name(name: str, imported: bool) -> AttributeError | ImportError | None:
    """The error of a name that `distributed` has or had and `spanwise` lacks; None for any other.

    Parameters
    ----------
    imported
        By ``from spanwise import name``, not asked for as an attribute.
    """
    substitute, who = MODULE.get(name), "distributed has"
    if substitute is None:
        substitute, who = FORMER.get(name), "earlier versions of distributed have"
    if substitute is None:
        return None
    kind = AbsentImport if imported else AbsentAttribute
    return kind(f"spanwise has no {name} ({who}). Instead: {substitute}.")
