"""Keywords that notebooks give `distributed`'s clients and clusters, and what happens here.

Those with a meaning are parameters of :class:`Client` and :class:`LocalCluster`. The others are
taken, and one warning says what happens instead; a keyword that nobody knows is an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from spanwise.client.security import unused_parts
from spanwise.notices import warn_asker

_HERE = "all connections stay on this machine, by sockets of Spanwise's own"
_PANELS = "there is no page of its own: open the panels from the Spanwise sidebar of JupyterLab"
_SCHEDULER = "the scheduler is no Python process"
_PICKLED = "values are pickled with cloudpickle"
_ALIVE = "connections are watched by themselves, without a setting"
_LOG = "workers and scheduler write to a log, whose end errors show"
_LIFETIME = "workers live as long as the cluster"
_PRELOAD = "nothing is loaded first: run() a function that prepares the workers"
_LIMITS = "set distributed.worker.memory.target, spill, pause, terminate in dask.config instead"

#: Keyword → what happens instead.
INSTEAD: dict[str, str] = {
    "processes": "workers are processes of their own all the same: tasks get copies of what is in "
    "this process, and threads_per_worker= says how many run in each",
    "blocked_handlers": _SCHEDULER,
    "config": "set Dask's configuration before, or by run()",
    "connection_limit": "there is no such limit to set",
    "contact_address": _HERE,
    "dashboard": _PANELS,
    "dashboard_address": _PANELS,
    "data": "workers keep results in memory and on disk by themselves",
    "death_timeout": "a worker ends with its scheduler, at once",
    "direct_to_workers": "results always come straight from the workers",
    "diagnostics_port": _PANELS,
    "env": "workers get this process's environment: set os.environ before",
    "executor": "tasks run on threads of the worker",
    "extensions": _SCHEDULER,
    "heartbeat_interval": _ALIVE,
    "host": _HERE,
    "http_prefix": _PANELS,
    "interface": _HERE,
    "ip": _HERE,
    "lifetime": _LIFETIME,
    "lifetime_restart": _LIFETIME,
    "lifetime_stagger": _LIFETIME,
    "listen_address": _HERE,
    "local_directory": "what is spilled lies in a temporary folder: set the variable TMPDIR",
    "loop": "there is no event loop: the client has threads",
    "low_level_profiler": "stacks are Python's",
    "memory_pause_fraction": _LIMITS,
    "memory_spill_fraction": _LIMITS,
    "memory_target_fraction": _LIMITS,
    "memory_terminate_fraction": _LIMITS,
    "metrics": "what is measured is what the panels show",
    "nanny": "the scheduler replaces workers that die",
    "plugins": _PRELOAD,
    "port": _HERE,
    "preload": _PRELOAD,
    "preload_argv": _PRELOAD,
    "preload_nanny": _PRELOAD,
    "preload_nanny_argv": _PRELOAD,
    "profile_cycle_interval": "stacks are sampled at a rate of Spanwise's own",
    "protocol": "connections are Unix sockets, or loopback where SPANWISE_TRANSPORT is tcp",
    "quiet": _LOG,
    "scheduler_kwargs": _SCHEDULER,
    "scheduler_port": _HERE,
    "scheduler_sync_interval": "what the cluster knows of its workers is always new",
    "security": "every connection is authenticated, and none leaves this machine",
    "deserializers": _PICKLED,
    "serializers": _PICKLED,
    "service_kwargs": _PANELS,
    "services": _PANELS,
    "silence_logs": _LOG,
    "start": "it has started when it is made; await an asynchronous one",
    "startup_information": "scheduler_info() has what workers say of themselves",
    "validate": "nothing is validated meanwhile",
    "worker_class": "workers are Spanwise's own processes",
    "worker_dashboard_address": _PANELS,
    "worker_port": _HERE,
    "worker_services": _PANELS,
}

_HERE_ALL = ("localhost", "127.0.0.1", "::1", "127.0.0.1:0", "localhost:0")
#: Values beside None that say what is the case here: nobody need be warned of them.
_FITTING: dict[str, tuple[Any, ...]] = {
    "processes": (True,),
    "contact_address": _HERE_ALL,
    "dashboard": (False,),
    "dashboard_address": ("",),
    "direct_to_workers": (True,),
    "extensions": ({},),
    "host": ("", *_HERE_ALL),
    "ip": ("", *_HERE_ALL),
    "interface": ("lo",),
    "nanny": (True,),
    "port": (0,),
    "protocol": ("tcp", "tcp://"),
    "quiet": (True,),
    "scheduler_kwargs": ({},),
    "scheduler_port": (0,),
    "security": (False,),
    "services": ({},),
    "service_kwargs": ({},),
    "start": (True,),
    "validate": (False,),
    "worker_dashboard_address": ("",),
    "worker_port": (0,),
    "worker_services": ({},),
}


def take_keywords(of: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Warn once of keywords that have no meaning here.

    Parameters
    ----------
    of
        The name of what is called, for the messages.
    given
        The keywords that are no parameters of it.
    known
        Its parameters, to be suggested for what is misspelt.

    Raises
    ------
    TypeError
        A keyword is none of `distributed`'s either.
    """
    unknown = [name for name in given if name not in INSTEAD]
    if unknown:
        near = difflib.get_close_matches(unknown[0], [*known, *INSTEAD], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"{of}() got an unexpected keyword argument {unknown[0]!r}.{hint}")
    idle = [name for name, value in given.items() if not _fits(name, value)]
    if idle:
        said = "; ".join(f"{name}=: {INSTEAD[name]}{_unused(name, given[name])}" for name in idle)
        warn_asker(f"{of}(…) is given what changes nothing here. {said}.", UserWarning)


def _unused(name: str, value: Any) -> str:
    """Of a `Security`: what of it is not used."""
    parts = unused_parts(value) if name == "security" else None
    if not parts:
        return ""
    return f" ({', '.join(parts)} {'is' if len(parts) == 1 else 'are'} not used)"


def _fits(name: str, value: Any) -> bool:
    """Whether a value says what is the case here already."""
    if value is None:
        return True
    if name == "security" and unused_parts(value) == []:
        return True  # without certificates
    if name == "silence_logs":
        return value is True or type(value) is int  # they are silent
    try:
        # By type too: 0 is equal to False.
        return any(
            type(value) is type(each) and bool(value == each) for each in _FITTING.get(name, ())
        )
    except Exception:  # noqa: BLE001 (an object of the caller's that cannot be compared)
        return False
