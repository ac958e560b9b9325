"""The mutual challenge-response that opens every link (docs/contracts.md §2).

Pure: a message goes in, the answer comes out; sockets and time limits are the caller's::

    initiator                      acceptor
    hello()             ─────▶     receive() ─▶ challenge
    receive() ─▶ proof  ─────▶     receive() ─▶ (role and intro are known and true)
    receive() ─▶ None   ◀─────     welcome(...)
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from spanwise.version import read_build, read_version
from spanwise.wire.errors import HandshakeRefused
from spanwise.wire.frame import Message
from spanwise.wire.schema import PROTOCOL

#: A message to send: its type and fields.
Answer = tuple[str, dict[str, Any]]

NONCE_BYTES = 16
SECRET_BYTES = 32
#: Seconds that a handshake may take.
TIME_LIMIT = 10.0
#: Callers that may be within their handshakes at one door; one more, and the oldest goes.
MOST_STRANGERS = 64
#: Told to a caller that is turned away and has done nothing wrong.
CROWD_SENTENCE = (
    f"More than {MOST_STRANGERS} connections were waiting for their handshake; "
    "this one, the oldest, was closed. Try again."
)

#: role -> who dials, who answers.
_SIDES = {
    "client": ("client", "scheduler"),
    "worker": ("worker", "scheduler"),
    "peer": ("caller", "worker"),
    "source": ("cluster", "observer"),
    "panel": ("Jupyter server", "observer"),
    "doorbell": ("kernel", "Jupyter server"),
}


def new_secret() -> bytes:
    """A secret for one door."""
    return secrets.token_bytes(SECRET_BYTES)


@cache
def own_build() -> str:
    """The build that this side names: ``0.1.0+1f2e3d4c5b6a``."""
    return f"{read_version()}+{read_build()}"


def proof_of(
    side: str, secret: bytes, role: str, nonce_initiator: bytes, nonce_acceptor: bytes
) -> bytes:
    """The proof that a side holds the secret; `side` keeps the two sides' proofs apart."""
    text = f"{side}:{role}".encode() + nonce_initiator + nonce_acceptor
    return hmac.digest(secret, text, "sha256")


def protocol_sentence(role: str, initiator: tuple[int, str], acceptor: tuple[int, str]) -> str:
    """Why these two cannot talk, and which one to upgrade; each is (protocol, build)."""
    dials, answers = _SIDES.get(role, ("caller", "other side"))
    older = dials if initiator[0] < acceptor[0] else answers
    return (
        f"The {dials} has Spanwise {initiator[1]} (protocol {initiator[0]}), "
        f"the {answers} Spanwise {acceptor[1]} (protocol {acceptor[0]}): they cannot talk. "
        f'Run "pip install --upgrade spanwise" in the environment of the {older} and restart it.'
    )


class Initiator:
    """The side that dialled.

    Attributes
    ----------
    welcome : dict or None
        What the other side said about itself; None until it did.
    """

    def __init__(
        self,
        secret: bytes,
        role: str,
        build: str | None = None,
        intro: Mapping[str, Any] | None = None,
        nonce: bytes | None = None,
    ) -> None:
        self._secret = secret
        self._role = role
        self._build = build or own_build()
        self._intro = dict(intro or {})
        self._nonce = nonce if nonce is not None else secrets.token_bytes(NONCE_BYTES)
        self._proved = False
        self.welcome: dict[str, Any] | None = None

    def hello(self) -> Answer:
        """The first message."""
        return "hello", {
            "protocol": PROTOCOL,
            "build": self._build,
            "role": self._role,
            "nonce": self._nonce,
        }

    def receive(self, message: Message) -> Answer | None:
        """The answer to a message; None when the link is open.

        Raises
        ------
        HandshakeRefused
            By the other side, or because it does not hold the secret.
        """
        fields = message.fields
        if message.type == "refused":
            raise HandshakeRefused(fields["sentence"], fields["code"])
        if message.type == "challenge" and not self._proved:
            if fields["protocol"] != PROTOCOL:
                raise HandshakeRefused(
                    protocol_sentence(
                        self._role,
                        (PROTOCOL, self._build),
                        (fields["protocol"], fields["build"]),
                    ),
                    "protocol",
                )
            theirs = bytes(fields["nonce"])
            expected = proof_of("acceptor", self._secret, self._role, self._nonce, theirs)
            if not hmac.compare_digest(expected, bytes(fields["proof"])):
                raise HandshakeRefused(
                    "The process at this address does not hold its secret.", "secret"
                )
            self._proved = True
            mine = proof_of("initiator", self._secret, self._role, self._nonce, theirs)
            return "proof", {"proof": mine, "intro": self._intro}
        if message.type == "welcome" and self._proved:
            self.welcome = fields["intro"]
            return None
        raise HandshakeRefused(f'"{message.type}" does not belong here.', "order")


class Acceptor:
    """The side that was dialled.

    Attributes
    ----------
    role : str
    intro : dict or None
        The caller's; None until it has proved that it holds the secret.
    """

    def __init__(
        self,
        secret: bytes,
        roles: Collection[str],
        build: str | None = None,
        nonce: bytes | None = None,
    ) -> None:
        self._secret = secret
        self._roles = frozenset(roles)
        self._build = build or own_build()
        self._nonce = nonce if nonce is not None else secrets.token_bytes(NONCE_BYTES)
        self._theirs: bytes | None = None
        self.role = ""
        self.intro: dict[str, Any] | None = None

    def receive(self, message: Message) -> Answer | None:
        """The answer to a message; None when the other side is known and waits for `welcome`.

        Raises
        ------
        HandshakeRefused
            To be sent to the other side as ``refused``.
        """
        fields = message.fields
        if message.type == "refused":
            raise HandshakeRefused(fields["sentence"], fields["code"])
        if message.type == "hello" and self._theirs is None:
            self.role = fields["role"]
            if fields["protocol"] != PROTOCOL:
                raise HandshakeRefused(
                    protocol_sentence(
                        self.role,
                        (fields["protocol"], fields["build"]),
                        (PROTOCOL, self._build),
                    ),
                    "protocol",
                )
            if self.role not in self._roles:
                raise HandshakeRefused(f'This door is not for "{self.role[:20]}".', "role")
            if len(fields["nonce"]) != NONCE_BYTES:
                raise HandshakeRefused(f"A nonce has {NONCE_BYTES} bytes.", "nonce")
            self._theirs = bytes(fields["nonce"])
            return "challenge", {
                "protocol": PROTOCOL,
                "build": self._build,
                "nonce": self._nonce,
                "proof": proof_of("acceptor", self._secret, self.role, self._theirs, self._nonce),
            }
        if message.type == "proof" and self._theirs is not None and self.intro is None:
            expected = proof_of("initiator", self._secret, self.role, self._theirs, self._nonce)
            if not hmac.compare_digest(expected, bytes(fields["proof"])):
                raise HandshakeRefused("The caller has the wrong secret.", "secret")
            self.intro = fields["intro"]
            return None
        raise HandshakeRefused(f'"{message.type}" does not belong here.', "order")

    def welcome(self, intro: Mapping[str, Any] | None = None) -> Answer:
        """The last message of the handshake."""
        return "welcome", {"intro": dict(intro or {})}
