"""Reaches a scheduler by Dask's own connection, and says why it cannot be reached."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from spanwise.errors import ClusterError

#: Of the time for an answer: that for connecting.
_OF_THE_ANSWER = 0.75

#: What installs the releases of `distributed` that go with the Dask which Spanwise needs.
INSTALL_DISTRIBUTED = (
    '%pip install "distributed<2026.9" in a cell, or the same without % in a shell'
)


class AnsweredBadly(ClusterError):
    """A scheduler has answered, and nothing that is of use.

    Attributes
    ----------
    because
        Why, as half a sentence.
    """

    def __init__(self, sentence: str, because: str = "") -> None:
        super().__init__(sentence)
        self.because = because or sentence.rstrip(".")


def security_of(where: Any) -> Any:
    """The security of Dask's configuration, of a dictionary, or as it is given.

    Raises
    ------
    ClusterError
        `distributed` cannot be imported, or the files of the security cannot be read.
    """
    try:
        from distributed.security import Security
    except ImportError as error:
        raise ClusterError(
            f"A Dask cluster is reached by distributed, which cannot be imported here ({error}): "
            f"run {INSTALL_DISTRIBUTED}."
        ) from None
    if where is None:
        return Security()
    if isinstance(where, dict):
        return Security(**where)
    return where


def open_rpc(address: str, security: Any, seconds: float) -> Any:
    """A `distributed.core.rpc`, which connects when it is first used.

    Of an answer only numbers, texts and lists of them are read; values that tasks made, and what
    was raised, stay closed. But `distributed` un-pickles a message whose sender marks it so: like
    a client of Dask, a viewer trusts its scheduler.

    Raises
    ------
    ClusterError
        The address is none, or the files of the security cannot be used.
    """
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend
    from distributed.core import rpc

    try:
        scheme, location = parse_address(address if "://" in address else f"tcp://{address}")
        get_backend(scheme)
        if scheme in ("tcp", "tls"):
            parse_host_port(location)
        arguments = security.get_connection_args("client")
        if scheme in ("tls", "wss") and arguments.get("ssl_context") is None:
            raise ClusterError(
                f"{address} is reached by TLS, for which certificates are needed: give "
                "security=distributed.Security(tls_ca_file=…, tls_client_cert=…, "
                "tls_client_key=…)."
            )
        # (it ends first, since it knows why it could not connect)
        most = _OF_THE_ANSWER * seconds
        return rpc(address, timeout=most, deserialize=False, connection_args=arguments)
    except (OSError, ssl.SSLError) as error:
        raise ClusterError(f"The TLS files cannot be read: {error}") from None
    except (ValueError, TypeError) as error:
        raise ClusterError(
            f"{address!r} is no address of a scheduler ({error}): give one like "
            "tcp://127.0.0.1:8786."
        ) from None


async def knock(address: str, seconds: float) -> None:
    """Open a plain connection to the host and port of an address, and close it.

    Dask tries again and again where nobody listens, until its time is over.

    Raises
    ------
    OSError, TimeoutError
        Why there is none.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, location = parse_address(address)
    if scheme in ("tcp", "tls"):
        host, port = parse_host_port(location)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()


def is_cut_off(rpc: Any) -> bool:
    """Whether all connections of a `distributed.core.rpc` that was used have ended.

    With the next question Dask would try to connect again until its time is over, also where
    nobody listens any more.
    """
    comms = getattr(rpc, "comms", None)
    return comms is not None and all(comm.closed() for comm in [*comms])


def why_not(address: str, error: BaseException) -> str:
    """A sentence for an error of reaching a scheduler."""
    for each in _causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return (
                f"The scheduler at {address} has a certificate that was not issued by the "
                f"authority given ({each.verify_message or each.reason}): check tls_ca_file."
            )
        if isinstance(each, ssl.SSLError):
            return _no_tls(address, each.reason or str(each))
        if is_answered_plainly(each):
            return _no_tls(address, "it answered without TLS")
        if isinstance(each, ConnectionRefusedError):
            return (
                f"Nobody listens at {address}: check the host and port, and that the scheduler "
                "runs."
            )
        if isinstance(each, socket.gaierror):
            return f"The host of {address} is not known: check its name."
    is_tls = address.startswith("tls:")
    if any(isinstance(each, TimeoutError) for each in _causes(error)):
        hint = "" if is_tls else " If the scheduler speaks TLS, its address begins with tls://."
        return (
            f"{address} did not answer in time: check the address, and that no firewall is "
            f"between.{hint}"
        )
    if is_tls:
        return _no_tls(address, str(error))
    return (
        f"{address} ended the connection ({error}): if the scheduler speaks TLS, its address "
        "begins with tls://, and certificates are needed."
    )


def is_answered_plainly(error: BaseException) -> bool:
    """Whether this is how tornado says that a scheduler spoke before TLS had begun."""
    return isinstance(error, ValueError) and "cannot convert to SSL" in str(error)


def _no_tls(address: str, why: str) -> str:
    return (
        f"The TLS connection to {address} failed ({why}): check the certificate and key, and that "
        "the scheduler speaks TLS."
    )


def lost_because(address: str, error: BaseException) -> str:
    """Half a sentence on why a scheduler that was reached before cannot be reached now."""
    if isinstance(error, AnsweredBadly):
        return error.because
    causes = [*_causes(error)]
    if any(isinstance(each, ConnectionRefusedError) for each in causes):
        return f"nobody listens at {address} any more"
    if any(isinstance(each, socket.gaierror) for each in causes):
        return f"the host of {address} is not known any more"
    if any(isinstance(each, TimeoutError) for each in causes):
        return f"{address} did not answer in time"
    if isinstance(error, ClusterError):
        return str(error).rstrip(".")
    return f"the connection to {address} broke"


def host_of(address: str) -> str:
    """The host of a scheduler or worker, as Dask calls it; ``""``: that cannot be told."""
    from distributed.comm.addressing import get_address_host

    try:
        return str(get_address_host(address))
    except (ValueError, NotImplementedError, OSError):
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what led to it."""
    seen: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is None or any(each is one for one in seen):
            continue
        seen.append(each)
        yield each
        left += [each.__cause__, each.__context__]
