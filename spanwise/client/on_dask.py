"""``spanwise.Client`` on a cluster of Dask: Dask's own client, whose panels are open.

What computes is `distributed`; what shows and answers is the viewer of its scheduler
(``spanwise/dask_bridge``). So a notebook goes from one engine to the other by the address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from spanwise.client.cluster_file import is_dasks_address
from spanwise.client.method_names import name_methods
from spanwise.client.spans_on_dask import marked, writing
from spanwise.dask_bridge.attach import AttachedCluster, attach
from spanwise.dask_bridge.reach import INSTALL_DISTRIBUTED
from spanwise.errors import ClusterError
from spanwise.graph.observe_dask import remember_provenance
from spanwise.notices import tell
from spanwise.observed.questions import FineMetrics
from spanwise.observed.span_info import SpanInfo
from spanwise.observed.task_stream_page import TASK_STREAM_FILE


def is_dasks(where: Any) -> bool:
    """Whether it is the address, or a cluster object, of Dask.

    Addresses of Spanwise's own clusters have no slashes: ``unix:…``, ``tcp:127.0.0.1:…``.
    """
    if isinstance(where, str):
        return is_dasks_address(where)
    modules = {each.__module__.partition(".")[0] for each in type(where).__mro__}
    is_ours = "spanwise" in modules  # (perhaps of a class that a user has derived)
    return not is_ours and isinstance(getattr(where, "scheduler_address", None), str)


def dask_client(*args: Any, **kwargs: Any) -> Any:
    """A client of `distributed` whose cluster is shown in the panels.

    Raises
    ------
    ClusterError
        `distributed` is not installed.
    OSError
        The scheduler cannot be reached, as of `distributed.Client`.
    """
    return _class()(*args, **kwargs)


@cache
def _class() -> Callable[..., Any]:
    """Made when it is first needed: `distributed` takes a while to import."""
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"A Dask cluster is used by distributed, which cannot be imported here ({error}): run "
            f"{INSTALL_DISTRIBUTED}."
        ) from None

    class DaskClient(distributed.Client):
        """`distributed.Client`, and the figures and panels of Spanwise.

        Attributes
        ----------
        attached
            The handle of :func:`spanwise.attach`; None if the cluster cannot be watched, or of an
            asynchronous client until it is asked something.
        """

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.attached: AttachedCluster | None = None
            remember_provenance()
            super().__init__(*args, **kwargs)
            if not self.asynchronous:
                try:
                    self.attached = attach(self)
                except (ClusterError, OSError) as error:
                    tell(f"Computations run as ever, but no panel shows them: {error}")

        async def _close(self, *args: Any, **kwargs: Any) -> Any:
            """By this all ways of closing go; panels keep the history."""
            attached, self.attached = self.attached, None
            if attached is not None:
                # (it waits for the scheduler's answer, which this loop need not bring; a process
                # that ends starts no more threads, and attach() ends it)
                with suppress(RuntimeError):
                    await asyncio.to_thread(attached.close)
            return await super()._close(*args, **kwargs)

        def _graph_to_futures(self, *args: Any, **kwargs: Any) -> Any:
            """By this all ways of computing go."""
            with writing(args, kwargs):
                return super()._graph_to_futures(*args, **kwargs)

        def _send_to_scheduler(self, msg: Any) -> Any:
            return super()._send_to_scheduler(marked(msg))

        def _watched(self) -> AttachedCluster:
            if self.attached is None:
                self.attached = attach(self)
            return self.attached

        def spans(self) -> list[SpanInfo]:
            """The spans as Dask has assigned them; as :meth:`spanwise.Client.spans`."""
            return self._watched().spans()

        def fine_metrics(
            self,
            span: Any = None,
            function: Any = None,
            worker: Any = None,
            start: float | None = None,
            stop: float | None = None,
            unit: str | None = None,
        ) -> FineMetrics:
            """Seconds, bytes and counts; as :meth:`spanwise.Client.fine_metrics`."""
            return self._watched().fine_metrics(
                span=span, function=function, worker=worker, start=start, stop=stop, unit=unit
            )

        def bandwidth(self, start: Any = None, stop: Any = None) -> dict[str, Any]:
            """As :meth:`AttachedCluster.bandwidth`: the scheduler's newest estimates."""
            if start is not None or stop is not None:
                raise ClusterError(
                    "A Dask scheduler estimates bandwidths and keeps none of a time: ask for "
                    "bandwidth() without start= and stop=. The transfers of a time, as Dask tells "
                    "them of each task, are in get_task_stream(start, stop)."
                )
            return self._watched().bandwidth()

        def system_monitor(self, start: Any = None, stop: Any = None) -> dict[str, Any]:
            """As :meth:`spanwise.Client.system_monitor`, of what workers say of themselves."""
            return self._watched().system_monitor(start, stop)

        # (Dask's own coroutines ask a client from its loop, and await what Dask gives)

        def get_task_stream(
            self,
            start: Any = None,
            stop: Any = None,
            count: Any = None,
            plot: bool | str = False,
            filename: str | Path = TASK_STREAM_FILE,
            bokeh_resources: Any = None,
        ) -> Any:
            """Records, and with `plot` a page, as :meth:`spanwise.Client.get_task_stream`."""
            if self.asynchronous:
                return super().get_task_stream(
                    start, stop, count, plot, str(filename), bokeh_resources
                )
            return self._watched().get_task_stream(start, stop, count, plot, filename)

        def profile(
            self,
            key: str | None = None,
            start: Any = None,
            stop: Any = None,
            workers: Any = None,
            merge_workers: bool = True,
            plot: bool | str = False,
            filename: str | Path | None = None,
            server: bool = False,
            scheduler: bool = False,
            *,
            span: Any = None,
        ) -> Any:
            """As :meth:`spanwise.Client.profile`; it takes 4 s."""
            asked = key, start, stop, workers, merge_workers, plot, filename, server, scheduler
            if self.asynchronous:
                if span is not None:
                    raise ClusterError(
                        "An asynchronous client of Dask gives Dask's profile, which knows no "
                        "spans: ask spanwise.attach(client).profile(span=…), in a thread."
                    )
                return super().profile(*asked)
            return self._watched().profile(*asked, span=span)

    name_methods(DaskClient, "Client")
    return DaskClient
