"""``spanwise observer``: an observer that outlives the programs that send it what they measure."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TextIO

from spanwise.command.options import refuse
from spanwise.command.until_told import Events, notices_as_lines, signals_as_events
from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.observed.own_observer import OwnObserver


def add_observer(parser: argparse.ArgumentParser) -> None:
    """Describe its arguments: there are none."""
    refuse(parser)
    parser.set_defaults(run=run_observer)


def run_observer(options: argparse.Namespace, out: TextIO) -> int:
    """Run an observer until a signal comes; returns the exit code."""
    events: Events = Events()
    with signals_as_events(events), notices_as_lines("spanwise observer"):
        observer = OwnObserver()
        try:
            folder = shlex.quote(str(observer.process.folder))
            out.write(
                f"Observer at {observer.address} (process {os.getpid()})\n"
                "  programs send it what they measure if they are started with\n"
                f"    export {OBSERVER_VARIABLE}={folder}\n"
                "It ends with this command, and forgets all: Ctrl-C, or SIGTERM.\n"
            )
            out.flush()
            _, name = events.get()
        finally:
            observer.close()
    out.write(f"The observer has ended: {name}.\n")
    return 0
