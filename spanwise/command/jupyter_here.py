"""JupyterLab, the two extensions in it, the servers that run, and the kernels they offer."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from spanwise.command.findings import Finding, State, bad, good, note
from spanwise.observed.doorbell import read_secret
from spanwise.observed.newest_server import NEWEST
from spanwise.processes.process_state import lives
from spanwise.version import read_version
from spanwise.wire.errors import LinkError
from spanwise.wire.link import dial
from spanwise.wire.schema import PROTOCOL

LAB_EXTENSION = "@spanwise/lab"
SERVER_EXTENSION = "spanwise.server"
#: As install.json and `pyproject.toml` have it.
JUPYTERLAB = ">=4.6,<5"
#: Below a checkout: the runtime folder that `scripts/prepare.sh` gives Jupyter.
_CHECKOUT_RUNTIME = ".build/jupyter/runtime"
_KERNEL_SECONDS = 60
_DIAL_SECONDS = 5.0
#: Asked of each kernel's interpreter.
_ASK = (
    "import json; from spanwise.version import read_version; "
    "from spanwise.wire.schema import PROTOCOL; print(json.dumps([read_version(), PROTOCOL]))"
)


def look_at_jupyterlab() -> Iterator[Finding]:
    """Its version, and whether it would load the panels and the server's part."""
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version("jupyterlab")
    except metadata.PackageNotFoundError:
        yield note(
            "JupyterLab",
            "not installed in this environment: the panels need it, computing does not",
            f'{sys.executable} -m pip install "jupyterlab{JUPYTERLAB}"',
        )
        return
    if not SpecifierSet(JUPYTERLAB).contains(version, prereleases=True):
        yield bad(
            "JupyterLab",
            f"{version} is installed; the panels need {JUPYTERLAB}",
            f'{sys.executable} -m pip install "jupyterlab{JUPYTERLAB}"',
        )
        return
    yield good("JupyterLab", version)
    yield _panels()
    yield _server_extension()


def _panels() -> Finding:
    from jupyter_core.paths import jupyter_path

    folders = jupyter_path("labextensions")
    reinstall = f"{sys.executable} -m pip install --force-reinstall spanwise"
    found = next((path for path in folders if (Path(path) / LAB_EXTENSION).is_dir()), None)
    if found is None:
        return bad("panels", f"{LAB_EXTENSION} is in none of {', '.join(folders)}", reinstall)
    described = json.loads((Path(found) / LAB_EXTENSION / "package.json").read_text("utf-8"))
    if described["version"] != read_version():
        return bad(
            "panels",
            f"those in {found} are of {described['version']}, Spanwise itself is {read_version()}",
            reinstall,
        )
    disabled = _page_settings()(folders).get("disabledExtensions", {})
    if _is_named(disabled, LAB_EXTENSION):
        return bad(
            "panels",
            "installed, but disabled in JupyterLab's settings",
            f"jupyter labextension enable {LAB_EXTENSION}",
        )
    return good("panels", f"in {found}")


def _page_settings() -> Callable[[list[str]], dict[str, Any]]:
    """JupyterLab's own reader of its settings, without the server that its package imports.

    That takes two seconds, more than all else that is looked at.
    """
    package = find_spec("jupyterlab_server")
    folders = package.submodule_search_locations if package is not None else None
    spec = spec_from_file_location("jupyterlab_config", Path((folders or ["."])[0]) / "config.py")
    if spec is None or spec.loader is None:
        raise ImportError("the package jupyterlab_server has no module config")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_page_config  # type: ignore[no-any-return]


def _is_named(disabled: Any, extension: str) -> bool:
    """Whether page settings name it: a list, or a mapping to true and false."""
    if isinstance(disabled, dict):
        return bool(disabled.get(extension))
    return extension in disabled


def _server_extension() -> Finding:
    from jupyter_core.paths import jupyter_config_path
    from jupyter_server.extension.config import ExtensionConfigManager

    manager = ExtensionConfigManager(read_config_path=jupyter_config_path())
    enabled = manager.get_jpserver_extensions().get(SERVER_EXTENSION)
    if enabled:
        return good("server part", "enabled")
    return bad(
        "server part",
        "disabled in Jupyter's settings" if enabled is False else "Jupyter's settings lack it",
        f"jupyter server extension enable {SERVER_EXTENSION}",
    )


def look_at_servers() -> Iterator[Finding]:
    """Jupyter servers of this user that run, and whether kernels can reach Spanwise in them."""
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:
        return  # `look_at_jupyterlab` has said it
    runtime = Path(jupyter_runtime_dir()).resolve()
    without: dict[int, str] = {}
    files: set[Path] = set()
    for folder in {runtime, *_checkout_runtimes()}:
        without |= _running_servers(folder)
        files |= set(folder.glob("spanwise-*.json"))
    variable = os.environ.get("SPANWISE_CONNECTION")
    named = Path(variable).resolve() if variable and variable != NEWEST else None
    if named is not None:
        files.add(named)
    for file in sorted(files):
        try:
            connection = json.loads(file.read_text("utf-8"))
            pid, url = connection["pid"], without.pop(connection["pid"], "")
        except (OSError, ValueError, KeyError, TypeError) as error:
            yield bad(
                "server",
                f"{file} cannot be read: {error}",
                "restart the Jupyter server that wrote it, or remove the file",
            )
            continue
        if lives(pid):
            found = _server(connection, f"process {pid}{url and f', {url}'}")
            elsewhere = file.parent != runtime and file != named
            yield _reached_by(file.parent, found) if elsewhere else found
        elif named == file:
            yield bad(
                "server",
                f"SPANWISE_CONNECTION names {file}, whose server (process {pid}) has ended",
                "unset SPANWISE_CONNECTION, or start this program from the new server",
            )
    for pid, url in without.items():
        yield note(
            "server",
            f"the Jupyter server at {url} (process {pid}) runs without Spanwise",
            "if it is of this environment, restart it: it started before Spanwise was installed",
        )


def _checkout_runtimes() -> set[Path]:
    """Where the servers of `scripts/run` say where they are, if a checkout is here.

    It is where the command is called, or its `.venv` runs the command.
    """
    environment = Path(sys.prefix)
    folders = []
    # (the folder may have been deleted)
    with suppress(OSError):
        here = Path.cwd()
        folders = [here, *here.parents]
    if environment.name == ".venv":
        folders.append(environment.parent)
    found = set()
    for folder in folders:
        runtime = folder / _CHECKOUT_RUNTIME
        # (where one above may not be searched, asking raises)
        with suppress(OSError):
            # (another user's server is none of this user's, whoever wrote files there)
            if (folder / "scripts/run").is_file() and _is_own(runtime):
                found.add(runtime.resolve())
    return found


def _is_own(folder: Path) -> bool:
    owner = folder.stat().st_uid
    return not hasattr(os, "getuid") or owner == os.getuid()


def _reached_by(runtime: Path, found: Finding) -> Finding:
    """Say of a server that answers how programs find it that Jupyter's own folder leads past it."""
    if found.state is not State.GOOD:
        return found
    return good(
        found.what,
        f"{found.found}; it is of scripts/run",
        f"Node programs outside of it find it with JUPYTER_RUNTIME_DIR={shlex.quote(str(runtime))}",
    )


def _running_servers(runtime: Path) -> dict[int, str]:
    """Process and address of each Jupyter server of this user that runs, by its file."""
    found: dict[int, str] = {}
    for file in runtime.glob("jpserver-*.json"):
        try:
            described = json.loads(file.read_text("utf-8"))
            if lives(described["pid"]):
                found[described["pid"]] = described["url"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # it is just being written, or its server has just ended
    return found


def _server(connection: dict[str, Any], name: str) -> Finding:
    restart = "restart the Jupyter server, then the kernels"
    if connection.get("protocol") != PROTOCOL:
        return bad(
            "server",
            f"{name} speaks protocol {connection.get('protocol')}, this Spanwise {PROTOCOL}",
            "install the same version of Spanwise for both; " + restart,
        )
    try:
        secret = read_secret(connection["secretFile"])
        dial(connection["doorbell"], secret, "doorbell", timeout=_DIAL_SECONDS).close()
    except (OSError, ValueError, KeyError, LinkError) as error:
        return bad("server", f"{name} does not answer: {error}", restart)
    return good("server", f"{name} answers")


def look_at_kernels() -> Iterator[Finding]:
    """Whether each Python kernel can import Spanwise, and which."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        return
    for name, described in sorted(KernelSpecManager().get_all_specs().items()):
        spec = described["spec"]
        if spec.get("language", "").lower() == "python" and spec.get("argv"):
            yield _kernel(name, spec)


def _kernel(name: str, spec: dict[str, Any]) -> Finding:
    # As the kernel manager does it: a bare name is this environment's.
    program = spec["argv"][0]
    if program in ("python", "python3"):
        program = sys.executable
    path = shutil.which(program)
    label = f"{name} ({program})"
    if path is None:
        return note(
            "kernel",
            f"{label}: its program is not there",
            f"jupyter kernelspec remove {name}, or make that environment again",
        )
    try:
        answer = subprocess.run(
            [path, "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=_KERNEL_SECONDS,
            check=False,
            env={**os.environ, **spec.get("env", {})},
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return note("kernel", f"{label}: its program does not answer: {error}")
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        return note(
            "kernel",
            f"{label} cannot import Spanwise ({last}): its notebooks cannot use it",
            f"{path} -m pip install spanwise",
        )
    version, protocol = json.loads(answer.stdout.splitlines()[-1])
    if protocol != PROTOCOL:
        return bad(
            "kernel",
            f"{label} has Spanwise {version} of protocol {protocol}, here it is "
            f"{read_version()} of protocol {PROTOCOL}: they cannot talk",
            f"{path} -m pip install spanwise=={read_version()}",
        )
    return good("kernel", f"{label}: Spanwise {version}")
