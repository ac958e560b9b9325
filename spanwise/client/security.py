"""What `distributed` calls security, as far as code gives it to clients and clusters."""

from __future__ import annotations

from typing import Any

import dask

_PARAMETERS = (
    "tls_ca_file",
    "tls_ciphers",
    "tls_min_version",
    "tls_max_version",
    "tls_client_cert",
    "tls_client_key",
    "tls_scheduler_cert",
    "tls_scheduler_key",
    "tls_worker_cert",
    "tls_worker_key",
    "extra_conn_args",
)


class Security:
    """Keeps what `distributed`'s has, for code that makes one; nothing here needs it.

    Whoever connects to a cluster proves that he has its secret, a file that its user alone can
    read, and no connection leaves the machine. A client or cluster that is given certificates says
    so in a warning.

    Parameters
    ----------
    require_encryption
        Kept; connections are not encrypted, since they stay on the machine.
    **kwargs
        The ``tls_…`` parameters of `distributed`'s class, and ``extra_conn_args``; kept.

    Raises
    ------
    TypeError
        A parameter that `distributed` does not know either.
    """

    def __init__(self, require_encryption: bool | None = None, **kwargs: Any) -> None:
        unknown = sorted({*kwargs} - {*_PARAMETERS})
        if unknown:
            raise TypeError(f"Unknown parameters: {unknown!r}")
        if require_encryption is None:
            require_encryption = dask.config.get("distributed.comm.require-encryption", None)
        self.require_encryption = bool(kwargs if require_encryption is None else require_encryption)
        for name in _PARAMETERS:
            setattr(self, name, kwargs.get(name, {} if name == "extra_conn_args" else None))

    @classmethod
    def temporary(cls, **kwargs: Any) -> Security:
        """What stands for certificates that last as long as the cluster: its own secret does."""
        return cls(require_encryption=True, **kwargs)

    def __repr__(self) -> str:
        given = [
            f"{name}={_shown(value)}"
            for name in ("require_encryption", *_PARAMETERS)
            if (value := getattr(self, name))
        ]
        return f"Security({', '.join(given)})"


def unused_parts(security: Any) -> list[str] | None:
    """What a `Security`, also `distributed`'s, holds that is not used; None: it is none.

    Versions of TLS are not told: `distributed`'s has them always.
    """
    if not all(hasattr(security, name) for name in ("require_encryption", *_PARAMETERS)):
        return None
    told = [name for name in _PARAMETERS if not name.endswith("_version")]
    return [name for name in ("require_encryption", *told) if getattr(security, name)]


def _shown(value: Any) -> str:
    """The text of a value; a key or certificate itself, which has lines, does not get into logs."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_shown(each)}' for name, each in value.items())}}}"
    hidden = isinstance(value, bytes) or (isinstance(value, str) and "\n" in value)
    return "…" if hidden else repr(value)
