"""What begins and ends with a block, ``with`` or ``async with``."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType, TracebackType
from typing import Any, Self


class Block:
    """A block around which something is done; in an ``async with`` by another thread."""

    def _begin(self) -> None:
        raise NotImplementedError

    def _noted(self, frame: FrameType) -> Any:
        """What `_end` needs of the function that has the block: it is asked in its thread."""
        return None

    def _end(self, noted: Any, error: BaseException | None) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(self._noted(sys._getframe(1)), error)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._begin)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._end, self._noted(sys._getframe(1)), error)
