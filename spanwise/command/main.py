"""What ``spanwise …`` does in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TextIO

from spanwise.version import read_version


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.

    Parameters
    ----------
    arguments
        Without the program's name; default: those of this process.

    Returns
    -------
    int
        0: well; 1: `doctor` found a fault, or it could not do what was asked; 2: the arguments
        make no sense.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="spanwise",
        description="Shows where a parallel computation spends its time and memory, in JupyterLab.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"spanwise {read_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    doctor = commands.add_parser(
        "doctor",
        help="look at this installation: what works, what does not, and what to do",
        description=(
            "Looks at this installation and prints a line per finding, with a remedy where "
            "something is wrong. The exit code is 1 if something is. Nothing is changed, and "
            "nothing leaves this machine."
        ),
        allow_abbrev=False,
    )
    doctor.add_argument(
        "--no-start", action="store_true", help="start neither an observer nor a cluster"
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    doctor.set_defaults(run=_doctor)
    for name, (help_, description) in _RUNNING.items():
        made = commands.add_parser(
            name, help=help_, description=f"{description}", allow_abbrev=False
        )
        if name in given[:1]:
            _describe(name, made)
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 2
    from spanwise.errors import ClusterError
    from spanwise.processes.node import NodeNotFound
    from spanwise.wire.errors import LinkError

    try:
        return int(options.run(options, sys.stdout))
    except (ClusterError, NodeNotFound, LinkError, OSError) as error:
        sys.stderr.write(f"spanwise {options.command}: {error}\n")
        return 1


#: Commands that run until they are told to end, and what they are.
_RUNNING = {
    "scheduler": (
        "start a cluster that programs and workers of this user join",
        "Starts a cluster on this machine, which programs of this user join by its address or its "
        "file, and workers by `spanwise worker`. It ends with this command, and with it its "
        "workers.",
    ),
    "worker": (
        "start workers for a cluster that runs",
        "Starts workers for a cluster of this user that runs on this machine. A worker that dies "
        "is replaced; they end with this command, after others have taken the results that they "
        "alone hold, and with their cluster.",
    ),
    "observer": (
        "keep the measurements of several programs in one place",
        "Starts an observer, which keeps what programs measure until this command ends: programs "
        "that are started with the variable that it prints send theirs there. Programs that "
        "JupyterLab starts do not need it, for the server has one.",
    ),
    "attach": (
        "show a Dask cluster that runs in the panels",
        "Watches a cluster of Dask until this command ends, and shows it in the panels. Nothing is "
        "installed there: one plugin goes to the scheduler, and leaves with the command.",
    ),
}


def _describe(name: str, parser: argparse.ArgumentParser) -> None:
    """Only the one that is used: it imports what it needs."""
    if name == "scheduler":
        from spanwise.command.scheduler import add_scheduler

        add_scheduler(parser)
    elif name == "worker":
        from spanwise.command.worker import add_worker

        add_worker(parser)
    elif name == "attach":
        from spanwise.command.attach import add_attach

        add_attach(parser)
    else:
        from spanwise.command.observer import add_observer

        add_observer(parser)


def _doctor(options: argparse.Namespace, out: TextIO) -> int:
    from spanwise.command.doctor import run_doctor

    return run_doctor(out, starts=not options.no_start, as_json=options.json)
