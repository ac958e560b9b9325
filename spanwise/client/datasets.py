"""Datasets: collections, futures and other values that outlive the client that publishes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from dask.typing import no_default

from spanwise.client.arguments import is_key, shown
from spanwise.shared.place import Place
from spanwise.shared.requests import Call
from spanwise.shared.steps import Steps, checked, run, run_async
from spanwise.shared.values import name_of, name_text, open_values, pack_value


class DatasetMethods:
    """What a client does with datasets."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Any

    def publish_dataset(
        self, *args: Any, name: Any = None, override: bool = False, **kwargs: Any
    ) -> Any:
        """Keep something with the scheduler under a name, for all clients.

        The results of futures in it stay until it is unpublished, also when this client leaves.

        Parameters
        ----------
        *args
            One value, with `name`.
        name
            A text or another plain value.
        override
            Take the place of what has the name.
        **kwargs
            Names and their values.

        Raises
        ------
        KeyError
            The name is taken.
        ClusterError
            There is no room: 10,000 names, 10 MiB each when pickled, 64 MiB of all that is shared,
            a million futures.
        """
        given = dict(kwargs)
        if not is_key(name):
            raise TypeError(f"name is a text or another plain value, not {shown(name)}")
        if len(args) == 1 and name is not None:
            given[name] = args[0]
        elif args or name is not None:
            raise ValueError("Give one dataset with name=, or datasets by keyword")
        packed = [(each, *pack_value(value)) for each, value in given.items()]
        futures = [future for _, _, found in packed for future in found]
        return run(self._sharing().of(futures), _publish(packed, override))

    def get_dataset(self, name: Any, default: Any = no_default, **kwargs: Any) -> Any:
        """Return what was published under a name, with futures of this client.

        Raises
        ------
        KeyError
            There is none, and no default.
        """
        return run(self._sharing(), _published(self, name, default))

    def list_datasets(self, **kwargs: Any) -> Any:
        """Return the names of all datasets."""
        return run(self._sharing(), _names())

    def unpublish_dataset(self, name: Any, **kwargs: Any) -> Any:
        """Forget what has a name; futures that somebody has of it stay."""
        return run(self._sharing(), _delete(name))

    @property
    def datasets(self) -> Datasets:
        """The published datasets as a mapping."""
        return Datasets(self)

    def _sharing(self) -> Place:
        return Place(self._session.shared, self.asynchronous, self)


def _publish(packed: list[tuple[Any, bytes, list[Any]]], override: bool) -> Steps[None]:
    for name, content, futures in packed:
        call = Call("dataset", "set", name_text(name), value=content, futures=futures)
        if not override:
            call = call._replace(fields={"version": 0})
        answer = yield from checked(call)
        if answer.outcome == "conflict":
            raise KeyError(f"Dataset {name!r} already exists")


def _published(client: Any, name: Any, default: Any) -> Steps[Any]:
    answer = yield from checked(Call("dataset", "get", name_text(name)))
    if answer.outcome != "done":
        if default is no_default:
            raise KeyError(f"Dataset {name!r} not found")
        return default
    (value,) = open_values(answer.values, client, [answer.hold])
    return value


def _names() -> Steps[tuple[Any, ...]]:
    answer = yield from checked(Call("dataset", "names", ""))
    return tuple(name_of(text) for text in answer.names)


def _delete(name: Any) -> Steps[None]:
    yield from checked(Call("dataset", "delete", name_text(name)))


class Datasets(MutableMapping[Any, Any]):
    """Published datasets by name; of an asynchronous client ``async for`` has the names.

    Parameters
    ----------
    client
        Whose.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def _blocking(self) -> Any:
        if self._client.asynchronous:
            raise TypeError(
                "This client is asynchronous: await get_dataset(), publish_dataset(), "
                "unpublish_dataset() and list_datasets()"
            )
        return self._client

    def __getitem__(self, name: Any) -> Any:
        return self._blocking().get_dataset(name)

    def __setitem__(self, name: Any, value: Any) -> None:
        self._blocking().publish_dataset(value, name=name)

    def __delitem__(self, name: Any) -> None:
        self._blocking().unpublish_dataset(name)

    def __contains__(self, name: Any) -> bool:
        return name in self._blocking().list_datasets()

    def __iter__(self) -> Iterator[Any]:
        yield from self._blocking().list_datasets()

    async def __aiter__(self) -> AsyncIterator[Any]:
        for name in await run_async(self._client._sharing(), _names()):
            yield name

    def __len__(self) -> int:
        return len(self._blocking().list_datasets())
