"""The address of an observer, for programs that ask it and sources that send to it."""

from __future__ import annotations

from pathlib import Path


class ObserverAddress:
    """Where an observer listens, the secret that opens it, and the file holding that.

    This one belongs to a Jupyter server, which starts another when it dies.

    Attributes
    ----------
    address
        Where it has listened at first.
    secret, secret_file
        Of this observer and of those after it.
    """

    def __init__(self, address: str, secret: bytes, secret_file: str) -> None:
        self.address = address
        self.secret = secret
        self.secret_file = secret_file

    def current_address(self) -> str:
        """Where it listens now: a new observer's address is written beside the secret."""
        try:
            return (Path(self.secret_file).parent / "address").read_text("utf-8")
        except OSError:
            return self.address

    def address_to_ask(self) -> str:
        """The same for a question, whose caller can be told why there is no answer.

        Raises
        ------
        ClusterError
            None runs, and none will soon.
        """
        return self.current_address()

    @property
    def is_own(self) -> bool:
        """Whether this process starts another observer when this one dies."""
        return False

    def kill_if_stopped(self) -> None:
        """End it at once if it was stopped and is this process's own."""

    def close(self) -> None:
        """End it if it is this process's own. Twice is safe."""
