"""Coroutines that users' functions return instead of values."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any


def awaited(value: Awaitable[Any]) -> Any:
    """Run a coroutine to its end, in this thread and an event loop of its own."""
    # 20 ms of every worker's start otherwise, for what few functions do.
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())
