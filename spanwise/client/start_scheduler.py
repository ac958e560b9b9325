"""Starts the scheduler of a private cluster, and says how one is started."""

from __future__ import annotations

import os
import secrets
import time
import uuid
from collections.abc import Callable
from typing import Any

from spanwise.client.launch import (
    allowed_failures,
    launch_spec,
    memory_per_worker,
    processes_and_threads,
    stall_seconds,
    transfer_log_length,
    worker_resources,
    worker_saturation,
    worker_ttl_seconds,
)
from spanwise.client.memory_settings import memory_settings
from spanwise.client.profile_settings import profile_settings
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.node_process import NodeProcess
from spanwise.processes.process_state import started
from spanwise.processes.this_process import default_name, notebook
from spanwise.wire.addresses import default_transport
from spanwise.wire.schema import PROTOCOL


def start_scheduler(
    n_workers: int | None,
    threads_per_worker: int | None,
    memory_limit: Any,
    name: str | None,
    find_observer: Callable[[], ObserverAddress | None],
    recording: bool = True,
    **settings: Any,
) -> tuple[NodeProcess, int]:
    """Start a private cluster; returns its scheduler and the number of workers.

    Parameters
    ----------
    find_observer
        Finds or starts one, while the scheduler's program starts.
    **settings
        More of what `docs/contracts.md` §8 lists, over what is written otherwise.
    """
    secret = secrets.token_bytes(32)
    own = cluster_settings(n_workers, threads_per_worker, memory_limit, recording)
    config = {
        **own,
        "protocol": PROTOCOL,
        "clusterId": uuid.uuid4().hex[:16],
        "name": name or default_name(),
        "secretHex": secret.hex(),
        "transport": default_transport(),
        "client": {"pid": os.getpid(), "started": started(os.getpid())},
        "notebook": notebook(),
        "wallEpoch": time.time(),
        **settings,
    }

    def with_observer() -> dict[str, Any]:
        found = find_observer()
        told = found and {"address": found.address, "secretFile": found.secret_file}
        return {"observer": told, **config}

    return NodeProcess("scheduler", with_observer, secret), own["nWorkers"]


def cluster_settings(
    n_workers: int | None, threads_per_worker: int | None, memory_limit: Any, recording: bool
) -> dict[str, Any]:
    """What a scheduler is started with, whoever starts it."""
    count, threads = processes_and_threads(n_workers, threads_per_worker)
    return {
        "nWorkers": count,
        "threadsPerWorker": threads,
        "memoryLimit": memory_per_worker(memory_limit, count, threads),
        "memory": memory_settings(),
        "profile": profile_settings(),
        "resources": worker_resources(),
        "transferLogLength": transfer_log_length(),
        "launch": launch_spec(),
        "recording": recording,
        "workerTtlSeconds": worker_ttl_seconds(),
        "workerSaturation": worker_saturation(),
        "stallSeconds": stall_seconds(),
        "allowedFailures": allowed_failures(),
    }
