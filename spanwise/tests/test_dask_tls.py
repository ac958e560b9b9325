"""A Dask cluster that is reached by TLS, with an authority of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.dask_bridge import viewer
from spanwise.errors import ClusterError
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the files")


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=LIMIT_SECONDS
    )


def issue(folder: Path, authority: str, name: str) -> dict[str, Any]:
    """A new authority and a certificate of it; the arguments of a `Security` with both."""
    key = ("-newkey", "rsa:2048", "-nodes")
    as_root = ("-keyout", f"{authority}.key", "-out", f"{authority}.pem", "-days", "2")
    openssl(folder, "req", "-x509", *key, *as_root, "-subj", f"/CN={authority}")
    own = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=localhost")
    openssl(folder, "req", *key, *own)
    by = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", *by, "-out", f"{name}.pem")
    return {
        "tls_ca_file": str(folder / f"{authority}.pem"),
        "tls_client_cert": str(folder / f"{name}.pem"),
        "tls_client_key": str(folder / f"{name}.key"),
        "require_encryption": True,
    }


@pytest.fixture(scope="module")
def securities(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the cluster's authority, and of another one."""
    folder = tmp_path_factory.mktemp("tls")
    return issue(folder, "own", "client"), issue(folder, "other", "stranger")


@pytest.fixture(scope="module")
def cluster(
    securities: tuple[dict[str, Any], dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DaskProcesses]:
    own, _ = securities
    files = ("--tls-ca-file", own["tls_ca_file"], "--tls-cert", own["tls_client_cert"])
    options = (*files, "--tls-key", own["tls_client_key"])
    processes = DaskProcesses(
        tmp_path_factory.mktemp("dask"),
        workers=1,
        scheduler_options=(*options, "--protocol", "tls"),
        worker_options=options,
    )
    yield processes
    processes.close()


def test_a_cluster_is_watched_by_tls(cluster: DaskProcesses, securities: Any) -> None:
    own, _ = securities
    assert cluster.address.startswith("tls://")
    security = distributed.Security(**own)
    with (
        spanwise.attach(cluster.address, security=own) as attached,
        distributed.Client(cluster.address, security=security, set_as_default=False) as client,
    ):
        future = client.submit(sum, [1, 2], pure=False)
        assert future.result(timeout=LIMIT_SECONDS) == 3
        assert [each["key"] for each in attached.get_task_stream()] == [future.key]


def test_what_is_wrong_is_said(cluster: DaskProcesses, securities: Any) -> None:
    own, other = securities
    of_another = {**own, "tls_ca_file": other["tls_ca_file"]}
    stranger = {**other, "tls_ca_file": own["tls_ca_file"]}
    plain = cluster.address.replace("tls", "tcp")
    said = []
    for address, security in (
        (cluster.address, of_another),
        (cluster.address, stranger),
        (plain, None),
    ):
        with pytest.raises(ClusterError) as caught:
            spanwise.attach(address, security=security)
        said.append(str(caught.value))
    assert "not issued by the authority given" in said[0] and "tls_ca_file" in said[0]
    assert "tls" in said[1].lower() and "certificate" in said[1]
    assert "its address begins with tls://" in said[2]
    assert len({*said}) == 3


def test_a_scheduler_that_speaks_before_tls_is_said_to_have_none(
    monkeypatch: pytest.MonkeyPatch, securities: Any
) -> None:
    own, _ = securities
    # (which of them tornado raises depends on who is faster)
    for error, why in (
        (ValueError("IOStream is not idle; cannot convert to SSL"), "it answered without TLS"),
        (OSError("Stream is closed"), "Stream is closed"),
    ):

        async def ship(*_: Any, raised: Exception = error) -> None:
            raise raised

        monkeypatch.setattr(viewer, "ship", ship)
        with pytest.raises(ClusterError) as caught:
            spanwise.attach("tls://127.0.0.1:9", security=own)
        said = f"The TLS connection to tls://127.0.0.1:9 failed ({why}): check the certificate"
        assert str(caught.value).startswith(said)
