"""Messages between the parts: frames, payloads, handshake and links.

The mirror of ``src/wire``; ``schema.json`` is written from it.
"""
