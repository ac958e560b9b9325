"""What a worker's peer door answers, held against what was asked."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, repeat
from typing import Any

from spanwise.records.enumerations import (
    ITEM_MISSING,
    ITEM_NOT_PICKLED,
    ITEM_OK,
    ITEM_TOGETHER,
)
from spanwise.wire import link as wire_link
from spanwise.wire import payload, small_arrays
from spanwise.wire.content import MOST_BYTES, broken, check_sizes
from spanwise.wire.direct import Direct, is_forbidden, pieces_by_item
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.wire.segments import Lent

#: A number, or a small array, that came in a list with others, and the bytes that came for it: all
#: of them for the first of the list.
Number = tuple[Any, int]
#: An item in `data`: task id, status, bytes of the result, payload (none if it is missing).
Item = tuple[int, int, float, "memoryview | Lent | Direct | Number | None"]

#: What may be in such a list: nothing that could refer to another one.
NUMBER_TYPES = frozenset({int, float, complex, bool, type(None)})


def together(numbers: list[Any]) -> bytes:
    """The payload of numbers, and of small arrays as they are told, that travel as one list.

    Each as a blob of its own takes 2.6 us more in both workers together, and a sum has thousands;
    an array 15 us.
    """
    return b"".join(payload.framed(pickle.dumps(numbers, 5)))


def read_there(items: list[Item]) -> tuple[bool, bool]:
    """Copy what lies in the other side's memory; what cannot be read stays as it is.

    Returns
    -------
    has_read
        Something lay there: `got` is awaited.
    may_read
        Nothing says that it can never be read.
    """
    has_read, may_read = False, True
    for row, (task_id, status, nbytes, content) in enumerate(items):
        if isinstance(content, Direct):
            has_read = True
            try:
                items[row] = (task_id, status, nbytes, content.read())
            except OSError as error:
                may_read = may_read and not is_forbidden(error)
    return has_read, may_read


def data_items(
    link: Link,
    request: int,
    asked: int,
    until: float | None = None,
    *,
    direct: bool = False,
    together: bool = False,
    arrays: bool = False,
) -> Iterator[tuple[Message, list[Item]]]:
    """The frames that answer a `get` of so many ids, with their items.

    Parameters
    ----------
    direct
        It was said that memory of the other side will be read.
    together
        It was said that numbers may come as one list.
    arrays
        And that small arrays may be in it.

    Raises
    ------
    BrokenFrame
        The answer is none to this question; the link is closed.
    LinkClosed, TimeoutError
        See :meth:`Link.read`.
    """
    left = asked
    more = True
    while more:
        message = link.read(until, wire_link.ANSWER_SECONDS)
        try:
            _check_answer(message, "data", request)
            rows = list(message.table("items"))
            more = message.fields["more"]
            if len(rows) > left:
                raise broken(message, "items", f"{len(rows)}, when {left} are awaited")
            if more and not rows:
                raise broken(message, "more", "it says that more comes, and brings nothing")
            left -= len(rows)
            if not direct and message.table("direct").rows:
                raise broken(message, "direct", "nobody has asked for it")
            items = _with_blobs(link, message, rows, together, arrays)
        except BrokenFrame as error:
            link.refuse("broken-frame", str(error))
            raise
        yield message, items


def await_stored(link: Link, request: int, lent: Collection[int] = ()) -> list[int]:
    """Wait for the answer to a `put`; return the items whose descriptors have not come.

    Parameters
    ----------
    lent
        The items that went as descriptors.

    Raises
    ------
    BrokenFrame, LinkClosed
    """
    message = link.read(None, wire_link.ANSWER_SECONDS)
    try:
        _check_answer(message, "stored", request)
        again = [item for (item,) in message.table("again")]
        if not set(again).issubset(lent):
            raise broken(message, "again.item", f"{again}, when {list(lent)} went in segments")
        return again
    except BrokenFrame as error:
        link.refuse("broken-frame", str(error))
        raise


def _check_answer(message: Message, kind: str, request: int) -> None:
    if message.type != kind:
        raise BrokenFrame(f'"{message.type}" where "{kind}" is awaited.')
    if message.fields["request"] != request:
        raise broken(message, "request", f"{message.fields['request']}, asked was {request}")


def put_in_segments(link: Link, message: Message) -> dict[int, Lent]:
    """What of a `put` came as descriptors, by the rows of its items.

    Raises
    ------
    BrokenFrame
        The table fits neither the items nor what came.
    """
    shared = message.table("shared")
    if not shared.rows:
        return {}
    rows = [(item, 0, nbytes) for item, nbytes in shared]
    return _lent(link, message, rows, range(message.table("items").rows))


def _lent(
    link: Link, message: Message, shared: Iterable[tuple[int, int, float]], items: Collection[int]
) -> dict[int, Lent]:
    """What came as descriptors, by the rows of their items."""
    sizes: dict[int, tuple[int, int]] = {}
    for item, segment, nbytes in shared:
        if item not in items or item in sizes:
            raise broken(message, "shared.item", f"{item} of {len(items)}")
        if not 0 < nbytes <= MOST_BYTES:
            raise broken(message, "shared.nbytes", f"{nbytes}")
        sizes[item] = segment, int(nbytes)
    try:
        descriptors = link.take_descriptors(len(sizes))
    except BrokenFrame as error:
        raise broken(message, "shared", str(error)) from error
    return {
        item: Lent(descriptor, segment, nbytes)
        for descriptor, (item, (segment, nbytes)) in zip(descriptors, sizes.items(), strict=True)
    }


def _numbers(message: Message, count: int, arrays: bool) -> list[Any]:
    """The numbers that came together, and the arrays."""
    if not message.blobs:
        raise broken(message, "items", f"the list of {count} numbers is missing")
    try:
        numbers = payload.loads(message.blobs[-1])
    except Exception as error:  # whatever unpickling raises
        raise broken(message, "items", f"the list of numbers cannot be read: {error!r}") from error
    if type(numbers) is not list:
        raise broken(message, "items", "the last blob is no list of numbers")
    others = set(map(type, numbers)) - NUMBER_TYPES
    if others and not (arrays and others == {tuple}):
        raise broken(message, "items", "the last blob is no list of numbers")
    if len(numbers) != count:
        raise broken(message, "items", f"{len(numbers)} numbers, expected {count}")
    if not others:
        return numbers
    try:
        return [small_arrays.opened(each) if type(each) is tuple else each for each in numbers]
    except ValueError as error:
        raise broken(message, "items", f"an array cannot be read: {error}") from error


def _with_blobs(
    link: Link,
    message: Message,
    rows: list[tuple[int, int, float]],
    together: bool,
    arrays: bool,
) -> list[Item]:
    shared = message.table("shared")
    lent: dict[int, Lent] = {}
    if shared.rows:
        items_here = {row for row, (_, status, _) in enumerate(rows) if status == ITEM_OK}
        lent = _lent(link, message, shared, items_here)
    pieces = pieces_by_item(list(message.table("direct")))
    check_sizes(message, "items.nbytes", [row[2] for row in rows])
    blobs = message.blobs
    numbers: Iterator[Number] = iter(())
    count = [status for _, status, _ in rows].count(ITEM_TOGETHER) if together else 0
    if count:
        came = chain((blobs[-1].nbytes if blobs else 0,), repeat(0))
        numbers = zip(_numbers(message, count, arrays), came, strict=False)
        blobs = blobs[:-1]
        if count == len(rows) and not blobs and not pieces:
            return [(*row, number) for row, number in zip(rows, numbers, strict=True)]
    items: list[Item] = []
    at = 0
    for row, (task_id, status, nbytes) in enumerate(rows):
        if status == ITEM_MISSING:
            items.append((task_id, status, nbytes, None))
            continue
        if status == ITEM_TOGETHER and together:
            items.append((task_id, status, nbytes, next(numbers)))
            continue
        if status > ITEM_NOT_PICKLED:
            raise broken(
                message, "items.status", f"{status}, expected {ITEM_OK} to {ITEM_NOT_PICKLED}"
            )
        if at == len(blobs):
            raise broken(message, "items", f"a payload is missing for task {task_id}")
        content: memoryview | Lent | Direct = lent.get(row, blobs[at])
        if row in pieces:
            try:
                content = Direct(link.peer, blobs[at], pieces.pop(row), link.is_there)
            except BrokenFrame as error:
                raise broken(message, "direct", str(error)) from error
        items.append((task_id, status, nbytes, content))
        at += 1
    if pieces:
        raise broken(message, "direct.item", f"{min(pieces)} of {len(rows)}")
    if at != len(blobs):
        raise broken(
            message, "items", f"{at} of them have payloads, of which there are {len(blobs)}"
        )
    return items
