"""What ``spanwise …`` does in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

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
        0: well; 1: `doctor` found a fault; 2: the arguments make no sense.
    """
    parser = argparse.ArgumentParser(
        prog="spanwise",
        description="Shows where a parallel computation spends its time and memory, in JupyterLab.",
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
    )
    doctor.add_argument(
        "--no-start", action="store_true", help="start neither an observer nor a cluster"
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    from spanwise.command.doctor import run_doctor

    return run_doctor(sys.stdout, starts=not options.no_start, as_json=options.json)
