"""What a worker's peer door answers, held against what was asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from spanwise.records.enumerations import ITEM_MISSING, ITEM_NOT_PICKLED, ITEM_OK
from spanwise.wire import link as wire_link
from spanwise.wire.content import MOST_BYTES, broken, check_sizes
from spanwise.wire.direct import Direct, is_forbidden, pieces_by_item
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.wire.segments import Lent

#: An item in `data`: task id, status, bytes of the result, payload (none if it is missing).
Item = tuple[int, int, float, "memoryview | Lent | Direct | None"]


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
    link: Link, request: int, asked: int, until: float | None = None, *, direct: bool = False
) -> Iterator[tuple[Message, list[Item]]]:
    """The frames that answer a `get` of so many ids, with their items.

    Parameters
    ----------
    direct
        It was said that memory of the other side will be read.

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
            items = _with_blobs(link, message, rows)
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


def _with_blobs(link: Link, message: Message, rows: list[tuple[int, int, float]]) -> list[Item]:
    shared = message.table("shared")
    lent: dict[int, Lent] = {}
    if shared.rows:
        items_here = {row for row, (_, status, _) in enumerate(rows) if status == ITEM_OK}
        lent = _lent(link, message, shared, items_here)
    pieces = pieces_by_item(list(message.table("direct")))
    check_sizes(message, "items.nbytes", [row[2] for row in rows])
    blobs = message.blobs
    items: list[Item] = []
    at = 0
    for row, (task_id, status, nbytes) in enumerate(rows):
        if status == ITEM_MISSING:
            items.append((task_id, status, nbytes, None))
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
