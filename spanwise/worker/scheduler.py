"""Handles the scheduler's messages: the link thread of a worker."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from spanwise.wire.errors import BrokenFrame
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.wire.rows import TASK_READY_AT, TASK_TEMPLATE
from spanwise.wire.turns import IS_POSSIBLE
from spanwise.worker.ahead import ImportAhead
from spanwise.worker.check_messages import check_from_scheduler
from spanwise.worker.launch import follow_launch
from spanwise.worker.plugins import Plugins
from spanwise.worker.run_functions import RunFunctions

if TYPE_CHECKING:
    from spanwise.worker.fetch import Fetching
    from spanwise.worker.watch import Watch
    from spanwise.worker.worker import Worker


#: Memory is not measured more often than this.
_LEAST_MEMORY_SECONDS = 0.001
#: Memory is not measured less often than this, as in the scheduler: a thread cannot
#: sleep arbitrarily long.
_MOST_MEMORY_SECONDS = 86_400.0


class SchedulerLink:
    """Reads the scheduler's messages until it is gone or says `close`.

    Parameters
    ----------
    link
        Open, role `worker`.
    worker, fetching, watch
        What the messages act on.
    """

    def __init__(
        self, link: Link, worker: Worker, fetching: Fetching, watch: Watch, ahead: ImportAhead
    ) -> None:
        self.link = self._link = link
        self._worker = worker
        self._fetching = fetching
        self._watch = watch
        self._ahead = ahead
        self._functions = RunFunctions(worker, watch.wake)
        self._plugins = Plugins(worker)
        watch.look_also = self._functions.look_on
        self._handlers: dict[str, Callable[[Message], None]] = {
            "assign": self._assign,
            "release": self._release,
            "acquire": self._acquire,
            "takeBack": self._take_back,
            "dropBlobs": self._drop_blobs,
            "peers": self._peers,
            "adopt": self._adopt,
            "discard": self._discard,
            "run": self._run,
            "flush": self._flush,
            "plugin": self._plugin,
            "shared": worker.shared.came,
            "rates": self._rates,
            "keys": worker.key_questions.came,
            "clockIs": self._clock_is,
            "names": _nothing,
        }
        #: What an executor handles that has nothing to do.
        self._instead = {
            kind: self._handlers[kind] for kind in ("assign", "release", "dropBlobs", "names")
        }

    def serve(self) -> None:
        """Handle messages until `close`.

        Raises
        ------
        LinkError
            The scheduler is gone, or says what cannot be understood.
        """
        self._link.look_over(check_from_scheduler)
        turns = self._worker.turns
        turns.begin()
        if IS_POSSIBLE:
            self._worker.link_reader = self
        # No message, nor anything that came with it, is held while this waits.
        while self._handle(self._link.read_batch()):
            if turns.rest():
                self._link.go_on()

    def _handle(self, messages: list[Message]) -> bool:
        """Whether more may come."""
        for message in messages:
            if message.type == "close":
                self._worker.flush()
                self._watch.send_measured()
                return False
            handler = self._handlers.get(message.type)
            if handler is None:
                error = BrokenFrame(f'"{message.type}" does not belong here.')
                self._link.refuse("broken-frame", str(error))
                raise error
            handler(message)
        return True

    def take_instead(self, message: Message) -> bool:
        """Handle a message in an executor that has nothing to do; False: it is this thread's."""
        handler = self._instead.get(message.type)
        if handler is None:
            self._worker.turns.met_foreign()
            return False
        handler(message)
        return True

    def _assign(self, message: Message) -> None:
        library = self._worker.library
        fields = message.fields
        launch = fields.get("launch")
        if launch is not None:
            follow_launch(launch["path"], launch["cwd"])
            self._ahead.add(launch.get("modules", ()))
        for template in fields["templates"]:
            library.add_template(template["id"], message.blobs[template["blob"]])
        for chunk in fields["chunks"]:
            library.add_chunk(chunk["id"], message.blobs[chunk["blob"]])
        if message.blobs:
            self._worker.pinned.keep_bound()
        inputs, holders, sizes = message.table("dependencies").values()
        rows: list[Any] = list(message.table("tasks"))
        clock = self._worker.clock
        if not clock.is_one:
            now = perf_counter()
            rows = [
                (
                    *row[:TASK_READY_AT],
                    clock.ours(row[TASK_READY_AT], now),
                    *row[TASK_READY_AT + 1 :],
                )
                for row in rows
            ]
        self._worker.assign(rows, inputs, holders, sizes)
        # The thread that runs a lone short task comes back at once, and can read what is next.
        is_lone = len(rows) == 1 and not inputs
        opened = library.templates.get(rows[0][TASK_TEMPLATE]) if is_lone else None
        self._worker.turns.may_rest = opened is not None and opened.quick

    def _release(self, message: Message) -> None:
        tasks, held = message.table("ids").values("taskId", "held")
        uncounted = [task for task, is_held in zip(tasks, held, strict=True) if not is_held]
        self._worker.release(tasks, uncounted)

    def _acquire(self, message: Message) -> None:
        self._worker.acquire(message.table("items"))

    def _take_back(self, message: Message) -> None:
        self._worker.take_back(message.table("tasks"))

    def _drop_blobs(self, message: Message) -> None:
        fields = message.fields
        self._worker.library.drop(fields["templates"], fields["chunks"])

    def _peers(self, message: Message) -> None:
        own = self._worker.number
        addresses = {peer["id"]: peer["address"] for peer in message.fields["workers"]}
        self._worker.transfers.addresses.update(addresses)
        addresses.pop(own, None)
        self._fetching.peers(addresses)

    def _adopt(self, message: Message) -> None:
        for data_id, client, task_id, _ in message.table("items"):
            if not self._worker.adopt(data_id, client, task_id):
                self._worker.send(
                    "event",
                    {"kind": "data-lost", "text": f"Data {data_id} was never put here."},
                )

    def _discard(self, message: Message) -> None:
        for data_id, client in message.table("items"):
            self._worker.discard(data_id, client)
        for client in message.fields["clients"]:
            self._worker.discard_all(client)

    def _flush(self, message: Message) -> None:
        self._worker.flush()
        self._watch.send_all()
        self._worker.send("flushed", {"request": message.fields["request"]})

    def _rates(self, message: Message) -> None:
        wanted = message.fields["memorySeconds"]
        self._watch.memory_seconds = min(max(_LEAST_MEMORY_SECONDS, wanted), _MOST_MEMORY_SECONDS)
        self._watch.wake()

    def _plugin(self, message: Message) -> None:
        fields = message.fields
        blob = message.blobs[0] if fields["setUp"] else None
        self._plugins.order(fields["request"], fields["name"], blob)

    def _clock_is(self, message: Message) -> None:
        received = perf_counter()
        fields = message.fields
        clock = self._worker.clock
        if fields["sent"] != clock.asked_at:
            return  # asked again meanwhile
        clock.answered(fields["clock"], fields["sent"], received, perf_counter)
        if clock.is_settling:
            self._worker.ask_clock()

    def _run(self, message: Message) -> None:
        fields = message.fields
        self._functions.run(fields["request"], message.blobs[0], fields["wait"])


def _nothing(message: Message) -> None:
    """Reserve the log's names, which this worker has not used yet."""
