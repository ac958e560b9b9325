"""The Jupyter server extension in a real server, with a stand-in for the observer."""

import asyncio
import contextlib
import json
import os
import stat
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from spanwise.processes.node import find_node
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.wire.errors import HandshakeRefused, LinkClosed
from spanwise.wire.frame import decode, encode
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import dial
from spanwise.wire.schema import BODY_LIMIT, link_type

websocket = pytest.importorskip("tornado.websocket")
httpclient = pytest.importorskip("tornado.httpclient")
pytest.importorskip("jupyter_server")

LIMIT = 120.0
TOKEN = "a-token-for-tests"
PANEL = link_type("panel")
REFUSAL = {"code": "x", "sentence": "y"}


def until(condition, what):
    """Wait for a condition, generously."""
    deadline = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in {LIMIT:g} s: {what}"
        time.sleep(0.02)
    return found


class Page:
    """A page's end of its WebSocket."""

    def __init__(self, connection, arrived):
        self.connection = connection
        self.ended = False
        self._arrived = arrived

    async def receive(self):
        """The next message, or None: the relay has closed."""
        body = await asyncio.wait_for(self._arrived.get(), LIMIT)
        self.ended = body is None
        return None if body is None else decode(PANEL.down, body)

    async def send(self, body):
        await self.connection.write_message(body, binary=isinstance(body, bytes))

    async def ask(self, request, cluster):
        fields = {"request": request, "cluster": cluster, "run": 0}
        await self.send(b"".join(encode(PANEL.up["detail"], fields))[4:])


class Server(JupyterServer):
    """A Jupyter server that takes a stand-in for the observer, and requests to it."""

    def __init__(self, folder, base_url="/", arguments=(), **environment):
        self.temporary = folder / "tmp"
        self.temporary.mkdir(mode=0o700)
        self.fake = fake = folder / "fake-observer"
        source = (Path(__file__).parent / "fake_observer.py").read_text()
        fake.write_text(source.replace("/usr/bin/env python", sys.executable, 1))
        fake.chmod(0o700)
        own = {
            "HOME": str(folder / "home"),
            "JUPYTER_CONFIG_DIR": str(folder / "home"),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "SPANWISE_NODE": str(fake),
        }
        super().__init__(
            folder,
            f"--ServerApp.base_url={base_url}",
            f"--IdentityProvider.token={TOKEN}",
            *arguments,
            **{**own, **environment},
        )
        self.base = f"127.0.0.1:{self.port}{base_url}"
        until(self._answers, f"the server answers: {self.log.read_text()}")

    def _answers(self):
        assert self.process.is_running(), self.log.read_text()
        with contextlib.suppress(OSError):
            return self.get("api", token=TOKEN)[0] == 200

    def get(self, path, token=None, data=None, **headers):
        """Status and text of a request; with data, of a POST."""
        if token:
            headers["Authorization"] = f"token {token}"
        request = urllib.request.Request(f"http://{self.base}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def status(self):
        code, text = self.get("spanwise/status", token=TOKEN)
        assert code == 200, text
        return json.loads(text)

    @property
    def connection(self):
        return json.loads(self.connection_file.read_text())

    def ring(self):
        """What the doorbell answers."""
        secret = bytes.fromhex(Path(self.connection["secretFile"]).read_text())
        link = dial(self.connection["doorbell"], secret, "doorbell", timeout=LIMIT)
        try:
            link.send("ring")
            return link.read().fields
        finally:
            link.close()

    @contextlib.asynccontextmanager
    async def page(self, query="", **headers):
        """A page's WebSocket, closed on both sides afterwards."""
        headers.setdefault("Authorization", f"token {TOKEN}")
        request = httpclient.HTTPRequest(
            f"ws://{self.base}spanwise/ws{query}", headers=headers, request_timeout=LIMIT
        )
        arrived = asyncio.Queue()
        connecting = websocket.websocket_connect(request, on_message_callback=arrived.put_nowait)
        page = Page(await asyncio.wait_for(connecting, LIMIT), arrived)
        try:
            yield page
        finally:
            page.connection.close()
            while not page.ended:
                await page.receive()

    def observers(self):
        """The observers that it runs; other extensions have children too."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                if str(self.fake) in child.cmdline():
                    found.append(child)
        return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Makes short paths: a socket's has at most 107 bytes."""
    base = tmp_path_factory.mktemp("s")

    def make():
        folder = base / f"{len(list(base.iterdir()))}"
        folder.mkdir()
        return folder

    return make


@pytest.fixture(scope="module")
def server(folders):
    running = Server(folders(), base_url="/user/a/")
    yield running
    running.close()


@pytest.fixture
def make_server(folders):
    """A server of one's own, for tests that break it."""
    made = []

    def make(**environment):
        made.append(Server(folders(), **environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_an_unused_extension_starts_nothing(make_server):
    server = make_server()
    assert server.status()["observer"] == "stopped"
    assert server.observers() == []


@pytest.mark.parametrize("path", ["spanwise/status", "spanwise/ws"])
@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("upgrade", [False, True])
def test_nothing_but_403_without_a_token(server, path, token, upgrade):
    headers = {}
    if upgrade:
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        }
    assert server.get(path, token=token, **headers)[0] == 403


@pytest.mark.parametrize("path", ["spanwise/clusters", "spanwise/clusters/0123456789abcdef"])
def test_nobody_controls_clusters_without_a_token(server, path):
    assert server.get(path, data=b'{"kernel": "python3"}')[0] == 403


def test_a_cookie_opens_the_socket_for_pages_of_this_server_only(server):
    """A token in the header vouches for its sender; a cookie is sent by any page of the browser."""
    request = urllib.request.Request(f"http://{server.base}api/status?token={TOKEN}")
    with urllib.request.urlopen(request, timeout=LIMIT) as response:
        cookie = response.headers["Set-Cookie"].split(";")[0]

    async def run():
        async with server.page(Authorization="", Cookie=cookie, Origin=own) as page:
            assert (await page.receive()).type == "clusters"
        with pytest.raises(httpclient.HTTPClientError) as refused:
            async with server.page(Authorization="", Cookie=cookie, Origin="http://evil.example"):
                pass
        assert refused.value.code == 403

    own = f"http://127.0.0.1:{server.port}"
    asyncio.run(run())


def test_bodies_go_both_ways_unchanged(server):
    async def run():
        async with server.page() as page:
            first = await page.receive()
            assert first.type == "clusters"
            for request, cluster in enumerate(["<img src=x>", "900000", "größe"]):
                await page.ask(request, cluster)
                answer = await page.receive()
                assert answer.fields["request"] == request
                assert answer.fields["run"]["key"] == cluster

    asyncio.run(run())
    assert server.status()["observer"] == "running"


def test_what_a_page_sends_before_the_observer_is_there_is_kept(make_server):
    server = make_server()

    async def run():
        async with server.page() as page:
            for request in range(20):
                await page.ask(request, "x")
            assert (await page.receive()).type == "clusters"
            for request in range(20):
                assert (await page.receive()).fields["request"] == request

    asyncio.run(run())


def test_pages_have_links_of_their_own_to_one_observer(server):
    async def run():
        async with contextlib.AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(server.page()) for _ in range(4)]
            firsts = [await page.receive() for page in pages]
            assert len({first.fields["clusters"][0]["pid"] for first in firsts}) == 1
            await pages[2].ask(7, "only me")
            assert (await pages[2].receive()).fields["request"] == 7

    asyncio.run(run())


def test_too_much_at_once_closes_the_page(server):
    async def run():
        async with server.page() as page:
            await page.receive()
            await page.send(bytes(BODY_LIMIT["panel"] + 1))
            assert await page.receive() is None
            assert page.connection.close_code == 1009

    asyncio.run(run())


def test_text_closes_the_page(server):
    async def run():
        async with server.page() as page:
            await page.receive()
            await page.send("hello")
            assert await page.receive() is None
            assert page.connection.close_code == 1003

    asyncio.run(run())


def test_a_page_of_another_protocol_is_told_to_reload(server):
    async def run():
        async with server.page("?protocol=1") as page:
            answer = await page.receive()
            assert answer.fields["state"] == "version"
            assert answer.fields["sentence"].startswith("Reload the page to use Spanwise ")
            assert await page.receive() is None

    asyncio.run(run())


def test_the_folders_and_files_are_the_users_alone(server):
    server.ring()
    connection = server.connection
    assert stat.S_IMODE(server.connection_file.stat().st_mode) == 0o600
    folder = Path(connection["folder"])
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0 or path.suffix == ".log", (path, oct(mode))
        if path.is_dir():
            assert mode == 0o700


def test_no_secret_stands_in_an_argument_or_a_variable(server):
    answer = server.ring()
    secrets = [
        Path(answer["secretFile"]).read_text(),
        Path(server.connection["secretFile"]).read_text(),
    ]
    for process in [psutil.Process(server.process.pid), *server.observers()]:
        shown = " ".join(process.cmdline()) + " ".join(process.environ().values())
        assert not any(secret in shown for secret in secrets)


def test_the_doorbell_says_where_the_observer_is(server):
    answer = server.ring()
    secret = bytes.fromhex(Path(answer["secretFile"]).read_text())
    link = dial(answer["address"], secret, "panel")
    assert link.read().type == "clusters"
    link.close()


def test_processes_of_the_server_are_told_of_the_connection_file(server):
    server.ring()
    (observer,) = server.observers()
    assert observer.environ()["SPANWISE_CONNECTION"] == str(server.connection_file)


def test_a_ring_without_the_secret_is_refused(server):
    with pytest.raises(HandshakeRefused, match="does not hold its secret"):
        dial(server.connection["doorbell"], new_secret(), "doorbell")


def test_the_observer_lets_nobody_in_without_its_secret(server):
    address = server.ring()["address"]
    with pytest.raises(HandshakeRefused, match="does not hold its secret"):
        dial(address, new_secret(), "panel")


def test_a_ring_of_another_protocol_is_refused_with_what_to_do(server, monkeypatch):
    monkeypatch.setattr("spanwise.wire.handshake.PROTOCOL", 99)
    with pytest.raises(HandshakeRefused) as refused:
        server.ring()
    assert "pip install --upgrade spanwise" in refused.value.sentence
    assert "in the environment of the Jupyter server" in refused.value.sentence


def test_tcp_is_the_other_transport(make_server):
    server = make_server(SPANWISE_TRANSPORT="tcp")
    answer = server.ring()
    assert server.connection["doorbell"].startswith("tcp:127.0.0.1:")
    assert answer["address"].startswith("tcp:127.0.0.1:")

    async def run():
        async with server.page() as page:
            assert (await page.receive()).type == "clusters"

    asyncio.run(run())


def test_without_node_there_is_a_sentence_everywhere(make_server):
    server = make_server(SPANWISE_NODE="/nowhere/node")

    async def run():
        async with server.page() as page:
            answer = await page.receive()
            assert answer.fields["state"] == "no-node"
            assert "SPANWISE_NODE" in answer.fields["sentence"]
            assert await page.receive() is None

    asyncio.run(run())
    assert "SPANWISE_NODE" in server.status()["problem"]
    with pytest.raises(LinkClosed, match="SPANWISE_NODE"):
        server.ring()


def test_the_real_observer_answers(make_server):
    server = make_server(SPANWISE_NODE=find_node())

    async def run():
        async with server.page() as page:
            first = await page.receive()
            assert (first.type, first.fields) == ("clusters", {"clusters": []})

    asyncio.run(run())
    assert server.status()["node"] == find_node()
    server.close()
    assert list(server.temporary.iterdir()) == []


def test_an_observer_that_cannot_start_says_why(make_server):
    server = make_server(FAKE_FAILS="The moon is in the wrong house.")

    async def run():
        async with server.page() as page:
            answer = await page.receive()
            assert answer.fields["state"] == "no-observer"
            assert answer.fields["sentence"] == "The moon is in the wrong house."

    asyncio.run(run())


def test_a_dead_observer_is_told_and_replaced(make_server):
    server = make_server()

    async def run():
        async with server.page() as page:
            before = (await page.receive()).fields["clusters"][0]["pid"]
            await page.ask(1, "die")
            answer = await page.receive()
            assert answer.fields["state"] == "no-observer"
            # (the page adds that the computation goes on)
            assert answer.fields["sentence"].endswith(" is being started again.")
            assert await page.receive() is None
        async with server.page() as page:
            after = (await page.receive()).fields["clusters"][0]["pid"]
            assert after != before

    asyncio.run(run())


def test_the_culler_is_kept_away_while_tasks_run_only(make_server):
    busy, quiet = make_server(FAKE_RUNNING_TASKS="3"), make_server()

    def last_activity(server):
        return json.loads(server.get("api/status", token=TOKEN)[1])["last_activity"]

    before = last_activity(busy), last_activity(quiet)
    busy.ring()
    quiet.ring()
    until(lambda: last_activity(busy) > before[0], "activity while tasks run")
    assert last_activity(quiet) == before[1]


def test_nothing_is_left_behind_when_the_server_stops(make_server):
    server = make_server()
    server.ring()
    (observer,) = server.observers()
    server.close()
    until(lambda: not observer.is_running(), "the observer ends")
    assert list(server.folder.glob("runtime/spanwise-*.json")) == []
    assert list(server.temporary.iterdir()) == []


def test_the_observer_ends_with_a_killed_server_and_the_next_sweeps(make_server, folders):
    server = make_server()
    server.ring()
    (observer,) = server.observers()
    left = Path(server.connection["folder"])
    server.kill()
    until(lambda: not observer.is_running(), "the observer ends")
    assert left.exists()

    from spanwise.server.runtime_folder import sweep

    sweep(server.folder / "runtime")
    assert not left.exists()
    assert list(server.folder.glob("runtime/spanwise-*.json")) == []


AUTHORIZER = """
from jupyter_server.auth import Authorizer

class Watching(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return resource != "spanwise" or action in self.allowed.split()

class Reader(Watching):
    allowed = "read"

class Nobody(Watching):
    allowed = ""
"""


def server_with(authorizer, make_server, folder):
    (folder / "permissions.py").write_text(AUTHORIZER)
    path = f"{folder}{os.pathsep}{Path(__file__).parents[2]}"
    argument = f"--ServerApp.authorizer_class=permissions.{authorizer}"
    return make_server(arguments=[argument], PYTHONPATH=path)


def test_who_may_only_read_watches_and_starts_nothing(make_server, tmp_path):
    server = server_with("Reader", make_server, tmp_path)

    async def run():
        async with server.page() as page:
            message = await page.receive()
            assert message.type == "state" and message.fields["state"] == "no-observer"
            assert '"execute" on "spanwise"' in message.fields["sentence"]
            assert await page.receive() is None
        assert server.status()["observer"] == "stopped"
        for path in ("spanwise/clusters", "spanwise/clusters/0123456789abcdef"):
            assert server.get(path, token=TOKEN, data=b'{"kernel": "python3"}')[0] == 403
        # A kernel of somebody who may run code rings: now there is something to watch.
        server.ring()
        async with server.page() as page:
            await page.ask(1, "key")
            assert (await page.receive()).type == "clusters"
            assert (await page.receive()).fields["run"]["key"] == "key"
            # A message that no viewer's is, as one that commands would be.
            await page.send(b"".join(encode(PANEL.up["refused"], REFUSAL))[4:])
            message = await page.receive()
            assert message.type == "state" and message.fields["state"] == "refused"
            assert "you may only watch" in message.fields["sentence"]
            assert await page.receive() is None

    asyncio.run(run())


def test_who_may_not_read_is_not_let_in(make_server, tmp_path):
    server = server_with("Nobody", make_server, tmp_path)

    async def run():
        with pytest.raises(httpclient.HTTPClientError) as refused:
            async with server.page():
                pass
        assert refused.value.code == 403

    asyncio.run(run())
    assert server.get("spanwise/status", token=TOKEN)[0] == 403


def test_every_message_of_a_viewer_has_its_permission():
    """A new one is refused to readers until somebody has thought about it here."""
    from spanwise.server.panel_socket import READING

    handshake = {"hello", "proof", "refused"}
    assert set(PANEL.up) - handshake == READING
