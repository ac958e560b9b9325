"""An asyncio connection to the observer; once the handshake is over, bodies pass unopened."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from typing import Any

from spanwise.wire.errors import BrokenFrame, HandshakeRefused, LinkClosed
from spanwise.wire.frame import decode, encode
from spanwise.wire.handshake import TIME_LIMIT, Answer, Initiator
from spanwise.wire.schema import BODY_LIMIT, link_type

_U32 = struct.Struct("<I")
_ROLE = "panel"
LIMIT = BODY_LIMIT["panel"]


class ObserverStream:
    """One link of role ``panel``; made by :func:`open_stream`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read_body(self) -> bytes:
        """Wait for the next body.

        Raises
        ------
        LinkClosed
            The observer is gone.
        BrokenFrame
            Longer than pages take.
        """
        try:
            (length,) = _U32.unpack(await self._reader.readexactly(4))
            if length > LIMIT:
                raise BrokenFrame(f"The observer sent {length} bytes, over the {LIMIT} allowed.")
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise LinkClosed("The observer closed the connection.") from error

    async def write_body(self, body: bytes) -> None:
        """Send a body; returns when the observer takes more.

        Raises
        ------
        LinkClosed
        """
        try:
            self._writer.write(_U32.pack(len(body)))
            self._writer.write(body)
            await self._writer.drain()
        except OSError as error:
            raise LinkClosed("The observer closed the connection.") from error

    def close(self) -> None:
        """Close the connection. Twice is safe."""
        self._writer.close()


async def open_stream(
    address: str, secret: bytes, intro: Mapping[str, Any] | None = None
) -> ObserverStream:
    """Dial the observer and prove that this side holds the secret.

    Raises
    ------
    HandshakeRefused, LinkClosed
    """
    try:
        async with asyncio.timeout(TIME_LIMIT):
            reader, writer = await _connect(address)
            try:
                stream = ObserverStream(reader, writer)
                await _shake_hands(stream, Initiator(secret, _ROLE, None, intro))
            except BaseException:
                writer.close()
                raise
            return stream
    except TimeoutError as error:
        raise LinkClosed(f"The observer did not answer within {TIME_LIMIT:g} s.") from error
    except BrokenFrame as error:
        raise HandshakeRefused(str(error), "broken-frame") from error
    except OSError as error:
        raise LinkClosed(f"The observer cannot be reached: {error}") from error


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(rest, limit=LIMIT)
    host, _, port = rest.rpartition(":")
    return await asyncio.open_connection(host, int(port), limit=LIMIT)


async def _shake_hands(stream: ObserverStream, handshake: Initiator) -> None:
    kinds = link_type(_ROLE)
    answer: Answer | None = handshake.hello()
    while handshake.welcome is None:
        if answer is not None:
            frame = b"".join(encode(kinds.up[answer[0]], answer[1]))
            await stream.write_body(frame[4:])
        answer = handshake.receive(decode(kinds.down, await stream.read_body()))
