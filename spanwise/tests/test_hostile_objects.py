"""Objects whose special methods exit, interrupt or talk without end: their task fails alone."""

from __future__ import annotations

import copyreg
import os
import sys
import traceback
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest
from tblib import pickling_support

from spanwise import Client
from spanwise.client.reason import open_error
from spanwise.errors import RemoteTaskError, TaskError
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.wire.foreign import MESSAGE_LIMIT, is_ctrl_c, said
from spanwise.worker.errors import BLOB_LIMIT, TEXT_LIMIT, describe

CLIENT_PID = os.getpid()


def leave(how: type[BaseException]) -> Any:
    raise how("out of a special method")


def leave_on_workers(how: type[BaseException], client: int) -> str:
    """Raise where a worker unpickles this; be a text elsewhere."""
    if os.getpid() != client:
        leave(how)
    return "at the client"


def leave_at_client(how: type[BaseException], client: int, _load: bytes) -> str:
    """Raise where the client unpickles this; be a text elsewhere."""
    if os.getpid() == client:
        leave(how)
    return "at a worker"


class Odd(BaseException):
    """Neither an Exception nor one that Python knows."""


HOW = [SystemExit, KeyboardInterrupt, Odd]


class Mute(Exception):
    """Its message cannot be had."""

    def __init__(self, how: type[BaseException]) -> None:
        super().__init__(how)
        self.how = how

    def __str__(self) -> str:
        return leave(self.how)

    __repr__ = __str__


class Unpicklable(Exception):
    def __init__(self, how: type[BaseException]) -> None:
        super().__init__("cannot travel")
        self.how = how

    def __reduce__(self) -> Any:
        return leave(self.how)


class Unopenable(Exception):
    def __init__(self, how: type[BaseException]) -> None:
        super().__init__("cannot be opened")
        self.how = how

    def __reduce__(self) -> Any:
        return leave, (self.how,)


class Talker(Exception):
    def __str__(self) -> str:
        return "x" * 200_000_000


class Stubborn(Exception):
    """Lets nobody set anything."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise SystemExit(name)


class Arrives:
    """Is an argument that raises when a worker opens it."""

    def __init__(self, how: type[BaseException]) -> None:
        self.how = how

    def __reduce__(self) -> Any:
        return leave_on_workers, (self.how, CLIENT_PID)


class Comes:
    """Is a result that raises when the client opens it."""

    def __init__(self, how: type[BaseException], client: int, nbytes: int = 0) -> None:
        self.how, self.client, self.load = how, client, bytes(nbytes)

    def __reduce__(self) -> Any:
        return leave_at_client, (self.how, self.client, self.load)


class Heavy:
    """Is a result whose size, type and end are as odd as can be."""

    def __init__(self, how: type[BaseException]) -> None:
        self.how = how

    def __sizeof__(self) -> int:
        return leave(self.how)

    def __repr__(self) -> str:
        return leave(self.how)

    def __del__(self) -> None:
        leave(self.how)

    def __getattr__(self, name: str) -> Any:
        return leave(object.__getattribute__(self, "how"))


class Calls:
    """Is a function that is odd in all that is asked of functions."""

    def __init__(self, how: type[BaseException]) -> None:
        self.__dict__["how"] = how

    def __call__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "how":
            raise AttributeError(name)
        return leave(self.__dict__["how"])


def throw(error: type[BaseException], *args: Any) -> None:
    raise error(*args)


def throw_group() -> None:
    raise ExceptionGroup("several", [Mute(SystemExit), ValueError("y" * 1_000_000)])


def throw_deep() -> None:
    throw_deep()


def throw_chain() -> None:
    try:
        raise Mute(SystemExit)
    except Mute:
        raise ValueError("after it") from None


def throw_load() -> None:
    raise ValueError(bytes(2 * BLOB_LIMIT))


def pid_of() -> int:
    return os.getpid()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=2) as client:
        yield client


@pytest.fixture(autouse=True)
def nobody_else_is_harmed(client: Client) -> Iterator[None]:
    """The worker lives on, and tasks beside the guilty one have their results."""
    before = client.submit(pid_of, pure=False)
    beside = [client.submit(abs, -n, pure=False) for n in range(20)]
    pid = before.result(timeout=LIMIT_SECONDS)
    yield
    assert client.gather(beside) == list(range(20))
    assert client.submit(pid_of, pure=False).result(timeout=LIMIT_SECONDS) == pid


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", [Mute, Unpicklable, Unopenable])
def test_an_exception_that_raises_when_it_is_told(client: Client, kind: type, how: type) -> None:
    error = client.submit(throw, kind, how, pure=False).exception(timeout=LIMIT_SECONDS)
    assert isinstance(error, Exception)
    assert kind.__name__ in said(error) or type(error) is kind


@pytest.mark.parametrize("how", HOW)
def test_what_a_task_raises_never_ends_the_client(client: Client, how: type) -> None:
    failed = client.submit(throw, how, "gone", pure=False)
    with pytest.raises(TaskError, match=f"{how.__name__}: gone"):
        failed.result(timeout=LIMIT_SECONDS)


@pytest.mark.parametrize("how", HOW)
def test_an_argument_that_raises_when_it_is_opened(client: Client, how: type) -> None:
    error = client.submit(str, Arrives(how), pure=False).exception(timeout=LIMIT_SECONDS)
    assert "could not be unpickled on the worker" in str(error)
    assert how.__name__ in str(error)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("nbytes", [0, 100_000])
def test_a_result_that_raises_when_the_client_opens_it(
    client: Client, how: type, nbytes: int
) -> None:
    coming = client.submit(Comes, how, CLIENT_PID, nbytes, pure=False)
    with pytest.raises(RemoteTaskError, match=f"could not be unpickled here .{how.__name__}"):
        coming.result(timeout=LIMIT_SECONDS)


@pytest.mark.parametrize("how", HOW)
def test_a_result_that_raises_when_it_is_measured_and_dropped(client: Client, how: type) -> None:
    held = client.submit(Heavy, how, pure=False)
    wait_until("it is there", held.done)
    assert held.status == "finished"
    held.release()


@pytest.mark.parametrize("how", HOW)
def test_a_function_that_raises_when_it_is_looked_at(client: Client, how: type) -> None:
    assert client.submit(Calls(how), pure=False, key=f"calls-{how}").result(LIMIT_SECONDS) == 1


@pytest.mark.parametrize("how", HOW)
def test_functions_run_on_workers_are_no_different(client: Client, how: type) -> None:
    with pytest.raises(Mute):
        client.run(throw, Mute, how)
    with pytest.raises(RemoteTaskError, match=how.__name__):
        client.run(Comes, how, CLIENT_PID)


@pytest.mark.parametrize("how", HOW)
def test_an_argument_that_cannot_be_pickled_is_an_error_of_the_call(
    client: Client, how: type
) -> None:
    with pytest.raises(TypeError, match=f"cannot be pickled .{how.__name__}"):
        client.submit(str, Unpicklable(how), pure=False, key=f"unpicklable-{how.__name__}")


def test_texts_are_bounded_and_say_so(client: Client) -> None:
    future = client.submit(throw, Talker, pure=False)
    error = future.exception(timeout=LIMIT_SECONDS)
    assert type(error) is Talker
    reason = future._alive().reason
    assert reason is not None
    assert len(reason.text) < 2 * TEXT_LIMIT
    assert "199990000 characters" in reason.text


@pytest.mark.parametrize("function", [throw_group, throw_deep, throw_chain])
def test_exceptions_of_all_shapes_arrive(client: Client, function: Any) -> None:
    future = client.submit(function, pure=False)
    error = future.exception(timeout=LIMIT_SECONDS)
    expected = {throw_group: ExceptionGroup, throw_deep: RecursionError, throw_chain: ValueError}
    assert type(error) is expected[function]
    shown = traceback.format_tb(future.traceback())
    assert f"in {function.__name__}\n" in shown[0]
    reason = future._alive().reason
    assert reason is not None
    assert function.__name__ in reason.text and len(reason.text) < 2 * TEXT_LIMIT


def test_a_payload_that_is_too_large_does_not_travel(client: Client) -> None:
    error = client.submit(throw_load, pure=False).exception(timeout=LIMIT_SECONDS)
    assert isinstance(error, TaskError)
    assert error.kind == "ValueError"
    assert "more than 32 MiB" in str(error)
    assert len(str(error)) < 2 * MESSAGE_LIMIT


def test_an_exception_that_lets_nobody_set_anything(client: Client) -> None:
    error = client.submit(throw, Stubborn, "no", pure=False).exception(timeout=LIMIT_SECONDS)
    assert "Stubborn" in type(error).__name__ or "Stubborn" in str(error)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_callback_that_exits_harms_nobody(client: Client) -> None:
    called: SimpleQueue[str] = SimpleQueue()

    def callback(_future: Any) -> None:
        called.put("it")
        sys.exit(3)

    future = client.submit(abs, -1, pure=False)
    future.add_done_callback(callback)
    # Its error is told before the next one is called, and must not reach the next test.
    future.add_done_callback(lambda _future: called.put("the next"))
    assert [called.get(timeout=LIMIT_SECONDS) for _ in range(2)] == ["it", "the next"]


def test_describe_stands_everything() -> None:
    for error in [Mute(SystemExit), Unpicklable(Odd), Unopenable(KeyboardInterrupt), Stubborn()]:
        try:
            raise error
        except Exception as caught:  # noqa: BLE001
            described = describe(caught)
        assert described.type == type(error).__name__
        assert described.blob


@pytest.fixture(params=[False, True])
def pickles_hold_chains(request: Any) -> Iterator[None]:
    """Also where pickles hold causes, contexts and tracebacks: distributed was imported."""
    before = dict(copyreg.dispatch_table)
    if request.param:
        pickling_support.install()
    yield
    # pickle holds this very dictionary
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


def raise_after(error: BaseException, raised: Exception) -> None:
    try:
        raise error
    except BaseException as cause:
        raise raised from cause


def raise_after_deep(raised: Exception) -> None:
    try:
        throw_deep()
    except RecursionError as cause:
        raise raised from cause


def raise_in_group_after_deep() -> None:
    try:
        raise_after_deep(ValueError("within"))
    except ValueError as one:
        raise ExceptionGroup("several", [one]) from None


def raise_after_thousands(raised: Exception) -> None:
    cause = KeyError(0)
    for number in range(3000):
        following = KeyError(number)
        following.__cause__ = cause
        cause = following
    raise_after(cause, raised)


@pytest.mark.usefixtures("pickles_hold_chains")
@pytest.mark.parametrize(
    ("how", "of_cause"),
    [
        (raise_after_deep, RecursionError),
        (raise_after_thousands, KeyError),
        (partial(raise_after, Unpicklable(SystemExit)), TaskError),
        (partial(raise_after, SystemExit(3)), SystemExit),
    ],
)
def test_an_exception_arrives_whatever_led_to_it(how: Any, of_cause: type | None) -> None:
    raised = ValueError("after it", 7)
    with pytest.raises(ValueError, match="after it") as caught:
        how(raised)
    led = raised.__cause__
    described = describe(caught.value)
    assert raised.__cause__ is led, "the task's exception is as it was"
    arrived = open_error(described.blob, KeyError("not opened"))
    assert (type(arrived), arrived.args) == (ValueError, ("after it", 7))
    assert type(arrived.__cause__) is of_cause
    assert described.type == "ValueError"


@pytest.mark.usefixtures("pickles_hold_chains")
def test_a_group_arrives_whatever_led_to_its_parts() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        raise_in_group_after_deep()
    arrived = open_error(describe(caught.value).blob, KeyError("not opened"))
    assert isinstance(arrived, ExceptionGroup)
    assert (type(arrived), arrived.exceptions[0].args) == (ExceptionGroup, ("within",))


def test_ctrl_c_is_told_from_code_that_says_so() -> None:
    try:
        leave(KeyboardInterrupt)
    except KeyboardInterrupt as said_so:
        assert not is_ctrl_c(said_so)
    import signal

    try:
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000):
            pass
    except KeyboardInterrupt as pressed:
        assert is_ctrl_c(pressed)
    assert not is_ctrl_c(SystemExit())
