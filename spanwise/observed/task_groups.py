"""Runs added up by the group and by the prefix of their keys, as `distributed` counts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dask.utils import key_split

#: How a task's last run left it, by the run's status. A lost run left it unfinished.
_STATES = {"OK": "memory", "error": "erred"}
_HASH = re.compile(r"[0-9a-f]{32}")


def key_split_group(key: Any) -> str:
    """What the keys of one collection's tasks have in common."""
    if isinstance(key, bytes):
        key = key.decode("utf-8", "replace")
    if isinstance(key, tuple) and key:
        return str(key[0])
    if not isinstance(key, str) or not key:
        return "Other"
    if key[0] == "(":
        return key.partition(",")[0].strip("()\"'")
    if len(key) == 32 and _HASH.fullmatch(key):
        return "data"
    if key[0] == "<":
        return key.strip("<>").partition(" ")[0].rpartition(".")[2]
    return str(key_split(key))


def task_groups(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Records of runs, by group."""
    groups = _sums(records, key_split_group)
    for name, group in groups.items():
        group["prefix"] = str(key_split(name))
    return groups


def task_prefixes(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Records of runs, by prefix; ``duration_average`` weighs the newest run by a half."""
    records = sorted(records, key=_end)
    prefixes = _sums(records, key_split)
    groups: dict[str, set[str]] = {}
    for record in records:
        prefix = str(key_split(record["key"]))
        groups.setdefault(prefix, set()).add(key_split_group(record["key"]))
        computed = [each for each in record["startstops"] if each["action"] == "compute"]
        if record["status"] != "OK":
            continue
        found = prefixes[prefix]
        for each in computed:
            seconds = max(0.0, each["stop"] - each["start"])
            before = found.get("duration_average")
            found["duration_average"] = seconds if before is None else (before + seconds) / 2
    for name, prefix_sums in prefixes.items():
        prefix_sums.setdefault("duration_average", None)
        prefix_sums["groups"] = sorted(groups[name])
    return prefixes


def _end(record: Mapping[str, Any]) -> float:
    return max((float(each["stop"]) for each in record["startstops"]), default=0.0)


def _sums(records: Iterable[Mapping[str, Any]], name_of: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    #: Of each key: what its newest run has added.
    newest: dict[Any, tuple[str, int]] = {}
    for record in sorted(records, key=_end):
        key, status = record["key"], record["status"]
        sums = found.setdefault(
            str(name_of(key)),
            {
                "states": {"memory": 0, "erred": 0},
                "all_durations": {},
                "duration": 0.0,
                "nbytes_total": 0,
                "types": set(),
                "start": None,
                "stop": None,
                "spans": set(),
            },
        )
        sums["spans"].add(record["span"])
        if status not in _STATES:
            continue
        nbytes = int(record["nbytes"] or 0) if status == "OK" else 0
        before = newest.get(key)
        if before is not None:
            sums["states"][before[0]] -= 1
            sums["nbytes_total"] -= before[1]
        newest[key] = (_STATES[status], nbytes)
        sums["states"][_STATES[status]] += 1
        sums["nbytes_total"] += nbytes
        if status == "OK":
            _add_run(sums, record)
    return found


def _add_run(sums: dict[str, Any], record: Mapping[str, Any]) -> None:
    """Add what a run took that did not fail; failed ones add nothing, as in `distributed`."""
    if record.get("typename") is not None:
        sums["types"].add(record["typename"])
    for each in record["startstops"]:
        action, start, stop = each["action"], each["start"], each["stop"]
        seconds = max(0.0, stop - start)
        sums["all_durations"][action] = sums["all_durations"].get(action, 0.0) + seconds
        sums["duration"] += seconds
        if action == "compute":
            sums["start"] = start if sums["start"] is None else min(sums["start"], start)
            sums["stop"] = stop if sums["stop"] is None else max(sums["stop"], stop)
