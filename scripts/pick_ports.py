"""Print ports that were free a moment ago: pick_ports.py COUNT.

They lie beside those that the system gives to whoever asks for any: one of these would be
another program's at any time until a server listens.
"""

from __future__ import annotations

import argparse
import errno
import random
import socket
from contextlib import ExitStack
from pathlib import Path

#: From where to where the system gives away ports by itself.
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Of systems that have no such file: all of them begin there, or later.
FIRST_GIVEN, LAST_GIVEN = 32_768, 65_535
#: Well-known services, and ports that browsers refuse, lie below.
LOWEST, HIGHEST = 20_000, 65_535
MOST_TRIES = 1_000


def given_away() -> tuple[int, int]:
    """Return the first and the last port that the system gives to whoever asks for any."""
    try:
        first, last = map(int, RANGE_FILE.read_text("ascii").split())
    except FileNotFoundError:
        return FIRST_GIVEN, LAST_GIVEN
    return first, last


def candidates(first: int, last: int) -> list[int]:
    """Ports that the system gives to nobody by itself; any port if it gives away all.

    Parameters
    ----------
    first, last
        What the system gives away.
    """
    besides = [port for port in range(LOWEST, HIGHEST + 1) if not first <= port <= last]
    return besides or [*range(LOWEST, HIGHEST + 1)]


def pick(count: int, among: list[int]) -> list[int]:
    """Return so many that were free, each a different one.

    Raises
    ------
    SystemExit
        Too few are free.
    OSError
        The system refuses a socket for another reason than that the port is in use.
    """
    found: list[int] = []
    # Held until all are found, so that none is found twice.
    with ExitStack() as doors:
        for port in random.sample(among, min(MOST_TRIES, len(among))):
            if len(found) == count:
                break
            try:
                doors.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            found.append(port)
    if len(found) < count:
        raise SystemExit(
            f"Of {min(MOST_TRIES, len(among))} ports between {min(among)} and {max(among)} "
            f"{len(found)} are free, and {count} are needed."
        )
    return found


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    print(*pick(parser.parse_args().count, candidates(*given_away())))


if __name__ == "__main__":
    main()
