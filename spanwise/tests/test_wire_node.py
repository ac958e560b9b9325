"""Links between Python and Node, both ways and over both transports."""

import queue
import subprocess

import pytest

from spanwise.processes.node import find_node
from spanwise.tests.bundled import bundle
from spanwise.wire.door import listen
from spanwise.wire.errors import HandshakeRefused
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import dial

LIMIT = 60.0


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The Node end, bundled."""
    return bundle(
        tmp_path_factory.mktemp("node") / "link-partner.cjs",
        entryPoints=["src/testing/link-partner.ts"],
        format="cjs",
    )


@pytest.fixture
def partner(program):
    """Starts the Node end; its stdin's end ends it."""
    started = []

    def start(secret, *arguments):
        process = subprocess.Popen(
            [find_node(), str(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        process.stdin.write(secret.hex() + "\n")
        process.stdin.flush()
        return process.stdout

    yield start
    for process in started:
        process.stdin.close()
        process.wait(LIMIT)
        process.stdout.close()


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_python_dials_node(partner, transport, tmp_path):
    tmp_path.chmod(0o700)
    secret = new_secret()
    address = partner(secret, "door", transport, tmp_path).readline().strip()
    link = dial(address, secret, "peer", {"worker": 3})
    assert link.welcome["intro"] == {"worker": 3} and link.welcome["role"] == "peer"

    sizes = [0, 1, 65_536, 9_000_000, 17]
    link.send("get", {"request": 1}, {"ids": {"taskId": sizes}})
    answer = link.read()
    assert answer.table("items")["taskId"].tolist() == sizes
    assert [blob.nbytes for blob in answer.blobs] == sizes
    assert all(
        bytes(blob) == bytes([n % 251]) * n for blob, n in zip(answer.blobs, sizes, strict=True)
    )

    link.send("put", {"request": 2}, {"items": [(1,), (2,)]}, [bytes(20_000_000), b"abc"])
    assert link.read().fields["request"] == 20_000_003
    link.close()


def test_node_refuses_what_it_must(partner, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    secret = new_secret()
    address = partner(secret, "door", "unix", tmp_path).readline().strip()
    with pytest.raises(HandshakeRefused, match="does not hold its secret"):
        dial(address, new_secret(), "peer")
    with pytest.raises(HandshakeRefused, match="not for"):
        dial(address, secret, "client")
    monkeypatch.setattr("spanwise.wire.handshake.PROTOCOL", 99)
    with pytest.raises(HandshakeRefused, match="in the environment of the worker") as refused:
        dial(address, secret, "peer")
    assert refused.value.code == "protocol"


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_node_dials_python(partner, transport, tmp_path):
    tmp_path.chmod(0o700)
    secret = new_secret()
    links = queue.Queue()
    door = listen(tmp_path, "python", secret, ["source"], links.put, transport=transport)
    output = partner(secret, "dial", door.address)
    link = links.get(timeout=LIMIT)
    assert link.intro == {"name": "größer"}
    blocks = link.read().blobs
    assert [(blob.nbytes, blob[0]) for blob in blocks] == [(5_000_000, 1), (7, 2)]
    link.send("ack", {"seq": 12})
    assert output.readline() == "ack 12\n"
    link.refuse("test", "Enough.")
    assert output.readline() == "closed Enough.\n"
    door.close()


def test_python_refuses_a_node_without_the_secret(partner, tmp_path):
    tmp_path.chmod(0o700)
    links = queue.Queue()
    door = listen(tmp_path, "python", new_secret(), ["source"], links.put)
    output = partner(new_secret(), "dial", door.address)
    assert "does not hold its secret" in output.readline()
    assert links.empty()
    door.close()
