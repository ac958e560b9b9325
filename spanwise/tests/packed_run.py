"""Runs `submit` messages in this process, as a worker would: the oracle of the packs."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from spanwise.graph.dictionaries import Names, Spans
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.packs import Packer, SubmitMessage
from spanwise.graph.prepare import prepare
from spanwise.graph.template import Template
from spanwise.records.enumerations import FLAG_ALIAS, NONE_U32


class PartRun:
    """One part (or one plain task) that ran.

    Attributes
    ----------
    name
        Function name.
    tags
        Its span's tags from the root; () is the default span.
    origin
        Of the whole task: 0 default, 1 user, 2 inferred.
    fused
        Whether it is a part among others.
    """

    def __init__(self, name: str, tags: tuple[str, ...], origin: int, fused: bool) -> None:
        self.name = name
        self.tags = tags
        self.origin = origin
        self.fused = fused

    def __repr__(self) -> str:
        return f"{self.name} {'/'.join(self.tags) or 'default'} {self.origin}"


class PackedRun:
    """Prepares, packs, unpickles and runs graphs; keeps what ran where.

    Attributes
    ----------
    runs
        Every part that ran, in order.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.spans = Spans(lambda row: None)
        self.packer = Packer(lambda obj: cloudpickle.dumps(obj, protocol=5), self.names, self.spans)
        self.provenance = remember_provenance()
        self.next_id = 0
        self.texts: list[str] = []
        self.values: dict[int, Any] = {}
        self.tags: dict[int, tuple[str, ...]] = {0: ()}
        self.templates: dict[int, Template] = {}
        self.chunks: dict[int, list[tuple[Any, ...]]] = {}
        self.runs: list[PartRun] = []
        self.current: PartRun | None = None
        #: Keys that a persist keeps: key → value.
        self.kept: dict[Any, Any] = {}
        self.key_texts: dict[int, str] = {}

    def get(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        """Do what a client's ``get`` does."""
        graph = prepare(dsk, keys, self.provenance)
        wanted = set(_flatten(keys))
        ids: dict[Any, int] = {}
        for message in self.packer.pack(graph, ids, wanted, self.next_id):
            self._run(message)
        self.next_id += len(graph.nodes)
        return _nested(keys, {key: self.values[ids[key]] for key in wanted})

    def call(self, run: Any, literals: Any, values: list[Any]) -> Any:
        """The value of one part, or of one plain task."""
        return run(literals, values)

    def _run(self, message: SubmitMessage) -> None:
        fields = message.fields
        assert fields["firstName"] == len(self.texts)
        self.texts += fields["names"]
        for span in fields["spans"]:
            self.tags[span["id"]] = (*self.tags[span["parent"]], span["tag"])
        for row in fields["templates"]:
            self.templates[row["id"]] = pickle.loads(message.blobs[row["blob"]])
        for row in fields["chunks"]:
            rows = pickle.loads(message.blobs[row["blob"]])
            assert len(rows) == row["rows"]
            self.chunks[row["id"]] = rows
        tasks = message.tasks
        keys = bytes(message.blobs[fields["keysBlob"]])
        count = len(tasks["id"])
        for i in range(count):
            last = i + 1 == count
            start = tasks["suffix"][i]
            stop = len(keys) if last else tasks["suffix"][i + 1]
            task_id = tasks["id"][i]
            self.key_texts[task_id] = self.texts[tasks["group"][i]] + keys[start:stop].decode()
            start = tasks["firstDependency"][i]
            stop = len(message.dependencies) if last else tasks["firstDependency"][i + 1]
            inputs = [self.values[d] for d in message.dependencies[start:stop]]
            if tasks["flags"][i] & FLAG_ALIAS:
                assert len(inputs) == 1
                self.values[task_id] = inputs[0]
                continue
            literals: tuple[Any, ...] = ()
            if tasks["chunk"][i] != NONE_U32:
                literals = self.chunks[tasks["chunk"][i]][tasks["row"][i]]
            template = self.templates[tasks["template"][i]]
            name = self.texts[tasks["function"][i]]
            plain = (name, tasks["span"][i], template.run, ())
            values = list(inputs)
            parts = [(p.name, p.span, p.run, p.drops) for p in template.parts or ()]
            for part_name, span, run, drops in parts or [plain]:
                self.current = PartRun(part_name, self.tags[span], tasks["origin"][i], bool(parts))
                self.runs.append(self.current)
                values.append(self.call(run, literals, values))
                for index in drops:
                    values[index] = None
            self.current = None
            self.values[task_id] = values[-1]


def _flatten(keys: Any) -> list[Any]:
    if isinstance(keys, list):
        return [key for inner in keys for key in _flatten(inner)]
    return [keys]


def _nested(keys: Any, values: dict[Any, Any]) -> Any:
    if isinstance(keys, list):
        return [_nested(inner, values) for inner in keys]
    return values[keys]
