"""What is left of a session in a fork of its process: refusals.

A fork has the connections, locks and tables of its parent, but none of the threads:
anything it sent would land in the middle of the parent's messages, and no answer would
ever come. So a fork's session becomes another class, at the moment of the fork and at no
cost to anybody else.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.processes.fork_hook import ForkHook


def stay_out_of_forks(session: Session) -> None:
    """Let forks of this process refuse to use the session."""
    _SESSIONS.add(session)


def _refuse_from_now_on(session: Session) -> None:
    session.__class__ = ForkedSession
    # A thread of the parent may have held these locks; it does not exist here to release them.
    session.sending = threading.RLock()
    session.scattering = threading.RLock()
    session.lock = threading.RLock()
    session._changed = threading.Condition(session.lock)
    # The parent closes the spans that are open here.
    session._closing = True
    session.abandon_links()


_SESSIONS = ForkHook(_refuse_from_now_on)


class ForkedSession(Session):
    """A session that refuses everything, and forgets in silence."""

    def _refuse(self, *args: Any, **options: Any) -> Any:
        raise ClusterError(
            f"This client belongs to process {self.pid} and cannot be used in its fork "
            f"{os.getpid()}: make a new Client() here, or start the process by "
            'multiprocessing\'s method "spawn".'
        )

    check_turn: Any = _refuse
    check_wait: Any = _refuse
    submit_graph: Any = _refuse
    let_go: Any = _refuse
    send_submit: Any = _refuse
    reserve_ids: Any = _refuse
    new_entries: Any = _refuse
    send: Any = _refuse
    send_all: Any = _refuse
    tell_code: Any = _refuse
    watch: Any = _refuse
    watch_runs: Any = _refuse
    wait_in_loop: Any = _refuse
    sleep: Any = _refuse
    sleep_in_loop: Any = _refuse
    wait_for: Any = _refuse
    wait_first: Any = _refuse
    when_done: Any = _refuse
    adopt: Any = _refuse
    adopt_all: Any = _refuse
    keep: Any = _refuse
    take_report: Any = _refuse
    wait_until_ended: Any = _refuse
    gather_one: Any = _refuse
    gather: Any = _refuse
    values: Any = _refuse
    cancel: Any = _refuse
    retry: Any = _refuse
    ask: Any = _refuse
    open_request: Any = _refuse
    next_answer: Any = _refuse
    wait_for_workers: Any = _refuse
    check_alive: Any = _refuse
    _check_alive: Any = _refuse

    def _nothing(self, *args: Any, **options: Any) -> None:
        """Does nothing: releasing futures and closing the client is the parent's business."""

    withdraw: Any = _nothing
    close_request: Any = _nothing
    unwatch: Any = _nothing
    unwatch_runs: Any = _nothing
    drop: Any = _nothing
    drop_later: Any = _nothing
    close: Any = _nothing
    cancel_all: Any = _nothing
