"""Arguments of the commands: what several take, and what is refused with what to do instead."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from dask.utils import parse_bytes, parse_timedelta

from spanwise.client.launch import MOST_WORKERS, worker_resources

_PANELS = "the panels are in JupyterLab, where programs that it starts show themselves"
_LOCAL = "a cluster is on this machine, and whoever connects proves to be its user: no certificates"
_PRELOAD = "set workers up with a plugin: client.register_plugin(…), or client.run(function)"
#: Options of Dask's commands that mean nothing here, and what to do instead.
REFUSED: dict[str, str] = {
    "--dashboard": _PANELS,
    "--no-dashboard": _PANELS,
    "--dashboard-address": _PANELS,
    "--dashboard-prefix": _PANELS,
    "--bokeh-port": _PANELS,
    "--show": _PANELS,
    "--no-show": _PANELS,
    "--use-xheaders": _PANELS,
    "--jupyter": "start JupyterLab itself: jupyter lab",
    "--no-jupyter": "leave it out: no JupyterLab is started",
    "--tls-ca-file": _LOCAL,
    "--tls-cert": _LOCAL,
    "--tls-key": _LOCAL,
    "--interface": "leave it out: a cluster is on this machine, and ends at its border",
    "--protocol": "set SPANWISE_TRANSPORT to unix or tcp, or give the scheduler --host or --port",
    "--contact-address": "leave it out: a cluster is on this machine",
    "--listen-address": "leave it out: a worker's address is made for it",
    "--worker-port": "leave it out: a worker's address is made for it",
    "--nanny-port": "leave it out: what looks after a worker has no address",
    "--worker-class": "leave it out: there is one kind of worker",
    "--preload": _PRELOAD,
    "--preload-argv": _PRELOAD,
    "--preload-nanny": _PRELOAD,
    "--preload-nanny-argv": _PRELOAD,
    "--pid-file": "the shell knows it: spanwise … & echo $! > file",
    "--lifetime": "stop the command when it is time (SIGTERM): its workers hand over their results",
    "--lifetime-stagger": "stop the command when it is time (SIGTERM)",
    "--lifetime-restart": "client.restart_workers(…) puts others in their place",
    "--reconnect": "leave it out: a worker ends with its scheduler",
    "--no-reconnect": "leave it out: a worker ends with its scheduler",
    "--nthreads-per-process": "give --nthreads",
    "--nprocs": "give --nworkers",
    "--memory-target-fraction": "set distributed.worker.memory.target in Dask's settings",
}


class Refusal(argparse.Action):
    """Says what to do instead, and ends with code 2."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, nargs="?", help=argparse.SUPPRESS, **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        (option,) = self.option_strings
        parser.error(f"{option} has no meaning here: {REFUSED[option]}")


def refuse(parser: argparse.ArgumentParser) -> None:
    """Have a command refuse what Dask's commands of this kind take besides."""
    known: Mapping[str, Any] = parser._option_string_actions
    for option in REFUSED:
        if option not in known:
            parser.add_argument(option, action=Refusal, dest=argparse.SUPPRESS)


def add_worker_options(parser: argparse.ArgumentParser, default_workers: str) -> None:
    """How many workers, and what each may use."""
    parser.add_argument(
        "--nworkers",
        type=count_of_workers,
        metavar="N",
        help=f"how many worker processes; auto: as a Client() has (default: {default_workers})",
    )
    parser.add_argument(
        "--nthreads",
        type=positive,
        metavar="N",
        help="tasks that run at a time in each process (default: the cores, divided among the "
        "workers)",
    )
    parser.add_argument(
        "--memory-limit",
        type=memory,
        default="auto",
        metavar="BYTES",
        help="of each process: 4GiB, a share of the machine's memory such as 0.25, 0 for no "
        "limit, auto for the share that its threads are of the cores (default: auto)",
    )
    parser.add_argument(
        "--resources",
        type=resources,
        metavar="AMOUNTS",
        help='what tasks may hold of each process beside a thread: "GPU=2 MEM=4e9" (default: '
        "distributed.worker.resources of Dask's settings)",
    )


def count_of_workers(text: str) -> int | str:
    """A number of workers, or ``auto``."""
    if text == "auto":
        return text
    found = whole(text)
    if not 0 <= found <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"from 0 to {MOST_WORKERS:,}, or auto, not {text}")
    return found


def positive(text: str) -> int:
    """A whole number from 1."""
    found = whole(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1, not {text}")
    return found


def resources(text: str) -> dict[str, float]:
    """Amounts by name: ``GPU=2 MEM=4e9``, also with commas."""
    found = {}
    for pair in text.replace(",", " ").split():
        name, equals, amount = pair.partition("=")
        try:
            found.update(worker_resources({name: float(amount)}))
        except (TypeError, ValueError):
            equals = ""
        if not (name and equals):
            raise argparse.ArgumentTypeError(f'amounts by name, "GPU=2 MEM=4e9", not {pair!r}')
    return found


def port(text: str) -> int:
    """A port; 0: a free one."""
    found = whole(text)
    if not 0 <= found < 2**16:
        raise argparse.ArgumentTypeError(f"a port: 0 (a free one) to {2**16 - 1}, not {text}")
    return found


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a whole number, not {text!r}") from None


def memory(text: str) -> Any:
    """What ``Client(memory_limit=…)`` takes."""
    if text in ("auto", "0", "none", "None"):
        return "auto" if text == "auto" else None
    try:
        found = float(text)
        return found if 0 < found <= 1 else int(found)
    except ValueError:
        pass
    try:
        return int(parse_bytes(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"bytes such as 4GiB, a share from 0 to 1, 0 or auto, not {text!r}"
        ) from None


def seconds(text: str) -> float:
    """A duration: ``90``, ``"90 s"``, ``"10 minutes"``."""
    try:
        found = float(parse_timedelta(text, "s"))
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(
            f"seconds, or text such as 90s or 10 minutes, not {text!r}"
        ) from None
    if found < 0:
        raise argparse.ArgumentTypeError(f"not negative, as {text} is")
    return found
