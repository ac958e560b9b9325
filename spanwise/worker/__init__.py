"""The worker: runs tasks, measures them, serves their results. See README.md."""

from spanwise.worker.current import get_worker

__all__ = ["get_worker"]
