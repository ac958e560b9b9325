"""The handshake's state machine, without sockets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.wire.errors import HandshakeRefused
from spanwise.wire.frame import Message
from spanwise.wire.handshake import PROTOCOL, Acceptor, Initiator, proof_of

SECRET = bytes([5]) * 32
NONCE_A = bytes(range(16))
NONCE_B = bytes(range(100, 116))


def message(answer):
    kind, fields = answer
    return Message(kind, fields, {}, [])


def initiator(role="worker", secret=SECRET):
    return Initiator(secret, role, "1.0.0", {"worker": 1}, NONCE_A)


def acceptor(*roles):
    return Acceptor(SECRET, roles or ("worker",), "2.0.0", NONCE_B)


def test_both_sides_become_known():
    a, b = initiator(), acceptor()
    proof = a.receive(message(b.receive(message(a.hello()))))
    assert b.intro is None
    assert b.receive(message(proof)) is None
    assert (b.role, b.intro) == ("worker", {"worker": 1})
    assert a.welcome is None
    assert a.receive(message(b.welcome({"id": 3}))) is None
    assert a.welcome == {"id": 3}


def test_proofs_are_those_of_the_node_side():
    """The same values as in src/wire/__tests__/handshake.spec.ts."""
    proofs = [
        proof_of(side, SECRET, "worker", NONCE_A, NONCE_B).hex()
        for side in ("acceptor", "initiator")
    ]
    assert proofs == [
        "a4e475ca3d734c40ebf30d4a2d22a59bd9f4c3ff5bb42f8a2044190b89869bab",
        "be77610f569f3d1516c839bf6b949c8032a07740c69364fdc7486ee4cb4b0ae6",
    ]


def test_the_caller_checks_first():
    challenge = acceptor().receive(message(initiator().hello()))
    with pytest.raises(HandshakeRefused, match="does not hold its secret"):
        initiator(secret=bytes(32)).receive(message(challenge))


def test_a_reflected_proof_is_refused():
    b = acceptor()
    _, challenge = b.receive(message(initiator().hello()))
    with pytest.raises(HandshakeRefused, match="has the wrong secret"):
        b.receive(message(("proof", {"proof": challenge["proof"], "intro": {}})))


@pytest.mark.parametrize(
    ("protocol", "side"), [(PROTOCOL - 1, "worker"), (PROTOCOL + 1, "scheduler")]
)
def test_another_protocol_is_told_what_to_upgrade(protocol, side):
    kind, fields = initiator().hello()
    with pytest.raises(HandshakeRefused, match=f"in the environment of the {side}"):
        acceptor().receive(message((kind, {**fields, "protocol": protocol})))


@pytest.mark.parametrize("length", [0, 1, 15, 17, 4096])
def test_a_nonce_of_another_length_is_refused_and_answered_with_no_proof(length):
    kind, fields = initiator().hello()
    b = acceptor()
    with pytest.raises(HandshakeRefused, match="A nonce has 16 bytes") as refused:
        b.receive(message((kind, {**fields, "nonce": bytes(length)})))
    assert refused.value.code == "nonce"
    # Nothing has begun: a proof would be out of order.
    with pytest.raises(HandshakeRefused) as refused:
        b.receive(message(("proof", {"proof": bytes(32), "intro": {}})))
    assert refused.value.code == "order"


MESSAGES = [
    message(initiator().hello()),
    message(("proof", {"proof": bytes(32), "intro": {}})),
    message(("refused", {"code": "x", "sentence": "y"})),
    message(("ring", {})),
]


@given(st.lists(st.sampled_from(MESSAGES), max_size=6))
def test_anything_in_any_order_lets_nobody_in(received):
    b = acceptor()
    try:
        for one in received:
            b.receive(one)
    except HandshakeRefused:
        pass
    assert b.intro is None
