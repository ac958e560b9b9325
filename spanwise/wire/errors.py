"""What can go wrong on a link, each with a sentence for people."""

from __future__ import annotations


class LinkError(Exception):
    """Anything a link raises."""


class BrokenFrame(LinkError):
    """The bytes are not a message of this link."""


class FrameTooLong(LinkError):
    """A message is longer than the link allows; nothing of it was sent."""


class LinkClosed(LinkError):
    """The other side is gone, or the link was closed here."""


class RefusedHere(LinkClosed):
    """The link was closed here because of what the other side said, as the text tells."""


class RefusedThere(LinkClosed):
    """The other side closed an open link because of what this side said.

    Parameters
    ----------
    sentence : str
        Why, as it said; perhaps nothing.
    code : str
        ``broken-frame``, ``memory`` ...
    """

    def __init__(self, sentence: str, code: str) -> None:
        super().__init__(sentence or "The other side refused, and did not say why.")
        self.sentence = str(self)
        self.code = code


class HandshakeRefused(LinkError):
    """The other side refused, or is not who it must be.

    Parameters
    ----------
    sentence : str
        What happened and what to do, to be shown as it is.
    code : str
        ``protocol``, ``secret``, ``role``, ``time``, ``broken-frame`` ...
    """

    def __init__(self, sentence: str, code: str = "refused") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
