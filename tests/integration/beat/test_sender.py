"""Batches that are published beside the claims: in order, without losing an error, and without holding anybody up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import pytest
from celery import Celery, current_app
from django.db import DatabaseError, connection, connections, transaction

from routines_app.beat.sender import BATCHES_AHEAD, Sender
from routines_app.coordination.envelope import Message

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(30)]
threaded = pytest.mark.skipif(
    "not connection.features.has_select_for_update", reason="only beside a claim on another connection"
)


def batch(name: str) -> list[Message]:
    return [Message(name, "nightly", "a.task", "", "MEDIUM", 1000, 0)]


class Noted:
    """A `send` that writes down what it was given, and in which thread."""

    def __init__(self, fail_at: str = "") -> None:
        self.names: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.fail_at = fail_at

    def __call__(self, messages: Sequence[Message]) -> None:
        self.threads.add(threading.current_thread())
        self.names.append(messages[0].run_id)
        if messages[0].run_id == self.fail_at:
            raise DatabaseError(f"at {self.fail_at}")


@pytest.fixture
def eager() -> Iterator[None]:
    """Runs start and finish inline."""
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@threaded
def test_a_burst_is_sent_in_order_by_one_other_thread():
    """The last batch too, although nothing comes after it; all are sent when the burst is over."""
    send = Noted()
    names = [str(number) for number in range(3 * BATCHES_AHEAD)]
    with Sender(send) as sender:
        for name in names:
            sender.send(batch(name), more=name != names[-1])

    assert send.names == names
    assert len(send.threads) == 1
    assert threading.current_thread() not in send.threads
    assert not any(thread.is_alive() for thread in send.threads)


@threaded
def test_the_next_batch_is_claimed_while_the_first_is_on_its_way():
    """Handing over returns before the batch is sent: otherwise nothing would go side by side."""
    claimed = threading.Event()
    waited: list[bool] = []
    with Sender(lambda _: waited.append(claimed.wait(10))) as sender:
        sender.send(batch("first"), more=True)
        claimed.set()

    assert waited == [True]


@threaded
def test_an_error_of_the_thread_is_raised_at_the_end_of_the_burst():
    """What comes after it is taken and dropped, however much it is: the rows are in the outbox."""
    send = Noted(fail_at="1")
    names = [str(number) for number in range(5 * BATCHES_AHEAD)]
    handed_over: list[str] = []
    with pytest.raises(DatabaseError, match="at 1"), Sender(send) as sender:  # noqa: PT012 - where it is raised matters
        for name in names:
            sender.send(batch(name), more=True)
            handed_over.append(name)

    assert handed_over == names
    assert send.names == ["0", "1"]


@threaded
def test_an_error_of_the_claims_is_not_hidden_by_one_of_the_thread():
    """The first thing that went wrong where everybody looks is what the loop is told."""
    with pytest.raises(ValueError, match="the claim"), Sender(Noted(fail_at="0")) as sender:  # noqa: PT012
        sender.send(batch("0"), more=True)
        raise ValueError("the claim")


@threaded
def test_an_error_of_the_claims_waits_for_what_was_handed_over():
    """A claim that failed does not undo the one before it."""
    send = Noted()
    with pytest.raises(DatabaseError, match="the second claim"), Sender(send) as sender:  # noqa: PT012
        sender.send(batch("0"), more=True)
        raise DatabaseError("the second claim")

    assert send.names == ["0"]
    assert not any(thread.is_alive() for thread in send.threads)


@threaded
@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt])
def test_a_process_that_is_told_to_end_does_not_wait_for_a_broker_that_hangs(ends: type[BaseException]):
    """The thread is a daemon, so that the interpreter does not wait for it either."""
    hanging, answered = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def hang(_: Sequence[Message]) -> None:
        threads.append(threading.current_thread())
        hanging.set()
        answered.wait(60)

    sender = Sender(hang)
    try:
        with pytest.raises(ends), sender:  # noqa: PT012
            sender.send(batch("0"), more=True)
            assert hanging.wait(10)
            raise ends
        assert threads[0].is_alive()
        assert threads[0].daemon
    finally:
        answered.set()
        sender._batches.put(None)
        threads[0].join(10)


def test_without_more_to_come_no_thread_is_started():
    """A thread for one batch would cost more than it saves; an error is raised at once."""
    send = Noted(fail_at="2")
    with Sender(send) as sender:
        sender.send(batch("1"), more=False)
        with pytest.raises(DatabaseError, match="at 2"):
            sender.send(batch("2"), more=False)
        sender.send(batch("3"), more=False)

    assert (send.names, send.threads) == (["1", "2", "3"], {threading.current_thread()})


def test_nothing_to_send_is_not_sent():
    """An empty batch starts no thread and asks nobody."""
    send = Noted()
    with Sender(send) as sender:
        sender.send([], more=True)
        assert sender._thread is None

    assert send.names == []


def stays_in_its_thread(around: AbstractContextManager[object]) -> None:
    send = Noted()
    with around, Sender(send) as sender:
        sender.send(batch("1"), more=True)
        assert send.names == ["1"]

    assert send.threads == {threading.current_thread()}


def test_inside_a_transaction_no_thread_is_used():
    """Another connection would not see the rows that are to be stamped."""
    stays_in_its_thread(transaction.atomic())


@pytest.mark.usefixtures("eager")
def test_eager_runs_stay_in_the_thread_that_asked_for_them():
    """Whoever runs tasks inline wants them where the debugger and the test's connection are."""
    stays_in_its_thread(nullcontext())


@pytest.mark.skipif("connection.features.has_select_for_update", reason="only where one connection writes at a time")
def test_a_database_with_one_writer_gets_no_second_one():
    """On SQLite the thread could only wait for the claims."""
    stays_in_its_thread(nullcontext())


@threaded
@pytest.mark.parametrize("fails", [True, False])
def test_the_thread_closes_its_database_connection(fails: bool):
    """Bursts come and go: none of them leaves a connection behind, also not when the database failed."""
    connection.ensure_connection()
    opened = []

    def ask(_: Sequence[Message]) -> None:
        mine = connections["default"]
        mine.ensure_connection()
        opened.append(mine)
        if fails:
            raise DatabaseError("after asking")

    with pytest.raises(DatabaseError) if fails else nullcontext(), Sender(ask) as sender:
        sender.send(batch("0"), more=True)
        sender.send(batch("1"), more=True)

    assert opened
    assert all(wrapper is not connections["default"] for wrapper in opened)
    assert all(wrapper.connection is None for wrapper in opened)
    assert connection.connection is not None, "the thread that claims keeps its own"


@threaded
def test_the_thread_uses_the_app_of_the_beat():
    """Of several Celery apps a new thread would take the default one: its broker is not the beat's."""
    seen: list[object] = []
    other = Celery("other", set_as_current=False)
    ours = current_app._get_current_object()
    other.set_current()
    try:
        with Sender(lambda _: seen.append(current_app.main)) as sender:
            sender.send(batch("1"), more=True)
    finally:
        ours.set_current()
    assert seen == ["other"]


@threaded
def test_a_thread_that_is_ended_from_inside_blocks_nobody():
    """Whatever a receiver of Celery's signals raises in there is raised at the end of the burst."""

    def leave(_: Sequence[Message]) -> None:
        raise SystemExit(3)

    def burst() -> None:
        with Sender(leave) as sender:
            for number in range(3 + BATCHES_AHEAD):
                sender.send(batch(str(number)), more=True)

    with pytest.raises(SystemExit):
        burst()
