"""Keywords of `distributed`'s clients and clusters: each is taken, refused, or unknown to both."""

from __future__ import annotations

import inspect
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.client.keywords import INSTEAD
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.warned import of_the_block, warnings_as_errors

#: Where the keywords of `distributed.Client(…)` end up.
_THEIRS = (distributed.Client, distributed.LocalCluster, distributed.Worker, distributed.Nanny)
#: What these give each other, and nobody gives to a client.
_BETWEEN_THEM = {
    "WorkerStateClass",
    "nthreads",
    "reconnect",
    "scheduler_ip",
    "scheduler_sni",
    "transition_counter_max",
}


def _named(function: Any) -> set[str]:
    return {
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.kind is not each.VAR_KEYWORD and each.kind is not each.VAR_POSITIONAL
    }


@pytest.mark.parametrize("ours", [spanwise.Client, spanwise.LocalCluster])
def test_no_keyword_of_theirs_is_forgotten(ours: Any) -> None:
    known = {*_named(ours), *INSTEAD, *_BETWEEN_THEM}
    given = {name for each in _THEIRS for name in _named(each)}
    if ours is spanwise.LocalCluster:
        given -= _named(distributed.Client) - _named(distributed.LocalCluster)
    assert given - known - {"scheduler_file"} == set()


def test_what_is_the_case_already_is_taken_without_a_word(scheduler: ClientScheduler) -> None:
    with warnings_as_errors():
        given: dict[str, Any] = dict.fromkeys(INSTEAD)
        given |= {"processes": True, "silence_logs": 40, "host": "127.0.0.1", "scheduler_port": 0}
        with LocalClient(scheduler, **given) as client:
            assert client.submit(abs, -1).result(60) == 1


def test_one_warning_says_what_happens_to_all_others(scheduler: ClientScheduler) -> None:
    with (
        pytest.warns(UserWarning) as caught,
        LocalClient(scheduler, processes=False, dashboard_address=":8787", heartbeat_interval="5s"),
    ):
        pass
    (told,) = of_the_block(caught)
    said = str(told.message)
    assert said.startswith("Client(…) ")
    for name in ("processes", "dashboard_address", "heartbeat_interval"):
        assert f"{name}=: {INSTEAD[name]}" in said
    assert "copies" in INSTEAD["processes"]


def test_what_is_given_as_security_is_kept_and_said(scheduler: ClientScheduler) -> None:
    plain = spanwise.Security()
    assert not plain.require_encryption and plain.tls_ca_file is None
    with warnings_as_errors(), LocalClient(scheduler, security=plain):
        pass
    made = spanwise.Security(tls_ca_file="ca.pem", require_encryption=True)
    assert "tls_ca_file='ca.pem'" in repr(made)
    assert spanwise.Security(tls_ca_file="ca.pem").require_encryption
    key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
    with_key = spanwise.Security(tls_client_key=key, extra_conn_args={"key": key})
    assert "MIIB" not in repr(with_key) and "tls_client_key=…" in repr(with_key)
    theirs_too = distributed.Security(tls_client_cert="c", tls_client_key=key)
    for given, unused in (
        (made, r"require_encryption, tls_ca_file are not used"),
        (with_key, r"tls_client_key, extra_conn_args are not used"),
        (theirs_too, r"tls_client_cert, tls_client_key are not used"),
    ):
        with pytest.warns(UserWarning, match=rf"security=: .*\(.*{unused}\)") as caught:
            LocalClient(scheduler, security=given).close()
        assert "MIIB" not in str(of_the_block(caught)[0].message)
    for given in (made, spanwise.Security.temporary(), True):
        with pytest.warns(UserWarning, match=r"security=: every connection is authenticated"):
            LocalClient(scheduler, security=given).close()
    theirs = {name for name in distributed.Security.__slots__ if hasattr(made, name)}
    assert theirs == {*distributed.Security.__slots__}
    with pytest.raises(TypeError, match=r"Unknown parameters: .'tls'"):
        spanwise.Security(tls=1)
    with pytest.raises(TypeError, match=r"Unknown parameters: .'tls'"):
        distributed.Security(tls=1)


def test_false_is_not_zero_nor_is_an_object_that_cannot_be_compared_what_is_the_case(
    scheduler: ClientScheduler,
) -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError("no")

    with (
        pytest.warns(UserWarning, match=r"silence_logs=: .*scheduler_port=: .*host=: "),
        LocalClient(scheduler, silence_logs=False, scheduler_port=False, host=Odd()),
    ):
        pass


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(TypeError, match=r"Client\(\) got .*'n_worker'\. Did you mean 'n_workers'"):
        spanwise.Client(n_worker=2)
    with pytest.raises(TypeError, match=r"LocalCluster\(\) got .*'nonsense'\.$"):
        spanwise.LocalCluster(nonsense=2)
    # As `distributed` does, once it has started its processes.
    with pytest.raises(TypeError, match="scheduler_prot"):
        spanwise.Client(scheduler_prot=1, processes=True)
