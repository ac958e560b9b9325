"""joblib on the cluster: ``import spanwise.joblib`` adds the backend "spanwise" to joblib's.

::

    import joblib
    import spanwise.joblib

    client = spanwise.Client()
    with joblib.parallel_config("spanwise"):
        search.fit(X, y)
"""

from __future__ import annotations

_NEEDED = 'run pip install "joblib>=1.3"'

try:
    from joblib import parallel_config as _since_1_3  # noqa: F401
    from joblib import register_parallel_backend
except ImportError as error:
    try:
        from joblib import __version__ as _found
    except ImportError:
        raise ImportError(
            f"spanwise.joblib needs joblib, which is not installed here: {_NEEDED}.", name="joblib"
        ) from error
    raise ImportError(
        f"spanwise.joblib needs joblib 1.3 or newer, and {_found} is installed here: {_NEEDED}.",
        name="joblib",
    ) from error

from spanwise.client.joblib_backend import SpanwiseBackend  # noqa: E402 (it needs joblib)

__all__ = ["SpanwiseBackend"]

register_parallel_backend("spanwise", SpanwiseBackend)
