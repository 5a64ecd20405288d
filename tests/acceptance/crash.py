"""Named crash points, for processes that a test starts with ROUTINES_CRASH_AT=point:SIGNAL.

The package has no hooks for tests: the functions that a point stands before or after are replaced here, in the process
that is to crash. It writes down what it held at that moment and sends itself the signal, once. ROUTINES_TICK_LOG names
a file to which a beat writes how long each of its ticks took, ROUTINES_LOOK_LOG one for when each of them began;
ROUTINES_LOST_SECONDS makes it miss messages sooner.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from celery.signals import beat_init, worker_process_init

SILENT_SECONDS = 3


class CrashPoint:
    """Sends the signal the first time it is reached with something at stake."""

    def __init__(self, name: str, number: signal.Signals) -> None:
        self.name = name
        self.number = number
        self.reached = False

    def reach(self, keys: Iterable[object]) -> None:
        held = [str(key) for key in keys]
        if self.reached or not held:
            return
        self.reached = True
        log = Path(os.environ["ROUTINES_BODY_LOG"]).with_name("crashes.jsonl")
        facts = {
            "point": self.name,
            "pid": os.getpid(),
            "wall": time.time(),
            "monotonic": time.monotonic(),
            "keys": held,
        }
        with log.open("a") as stream:
            stream.write(json.dumps(facts) + "\n")
        os.kill(os.getpid(), self.number)


def install(**_: Any) -> None:
    """Replace what the asked-for point is about, in this process."""
    text = os.environ.get("ROUTINES_CRASH_AT", "")
    if text:
        name, number = text.split(":")
        POINTS[name](CrashPoint(name, signal.Signals[number]))
    if os.environ.get("ROUTINES_TICK_LOG"):
        time_ticks(Path(os.environ["ROUTINES_TICK_LOG"]))
    if os.environ.get("ROUTINES_LOOK_LOG"):
        stamp_looks(Path(os.environ["ROUTINES_LOOK_LOG"]))
    if os.environ.get("ROUTINES_LOST_SECONDS"):
        miss_messages_after(timedelta(seconds=float(os.environ["ROUTINES_LOST_SECONDS"])))


def inside_claim(point: CrashPoint) -> None:
    """Rows and states are written, the commit has not happened."""
    from routines_app.protocol.claim.due import write_states

    def crash_after(states: Any) -> None:
        write_states(states)
        point.reach(state.routine_id for state in states)

    replace_everywhere(write_states, crash_after)


def inside_tick(point: CrashPoint) -> None:
    """A rotation's tick has picked: members, runs and counters are written, the commit has not happened."""
    from routines_app.protocol.claim.tick import tick

    def crash_after(*args: Any, **kwargs: Any) -> Any:
        done = tick(*args, **kwargs)
        point.reach(run.pk for run in done.runs)
        return done

    replace_everywhere(tick, crash_after)


def before_publish(point: CrashPoint) -> None:
    """The claim is committed, nothing is in the broker."""
    from routines_app.protocol.publish import outbox

    send = outbox.send

    def crash_before(messages: Any, **more: Any) -> Any:
        point.reach(message.run_id for message in messages)
        return send(messages, **more)

    outbox.send = crash_before


def before_stamp(point: CrashPoint) -> None:
    """The messages are in the broker, the rows do not say so."""
    from routines_app.protocol.publish import outbox

    stamp = outbox.stamp

    def crash_before(run_ids: Any, now: Any) -> int:
        point.reach(run_ids)
        return stamp(run_ids, now)

    outbox.stamp = crash_before


def before_start(point: CrashPoint) -> None:
    """The worker has taken the message, and acknowledged it; the row is still PENDING."""
    from routines_app.protocol.run import start as module

    start = module.start

    def crash_before(run_id: Any, *args: Any, **kwargs: Any) -> Any:
        point.reach([run_id])
        return start(run_id, *args, **kwargs)

    replace_everywhere(start, crash_before)


def before_finish(point: CrashPoint) -> None:
    """The body has returned; the ledger does not know it."""
    from routines_app.protocol.end import finish as module

    finish = module.finish

    def crash_before(run: Any, *args: Any, **kwargs: Any) -> Any:
        point.reach([run.id])
        return finish(run, *args, **kwargs)

    replace_everywhere(finish, crash_before)


def replace_everywhere(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """In every module of the package that has imported the function by name."""
    import sys

    for name, module in list(sys.modules.items()):
        if name.startswith("routines_app"):
            for attribute, value in list(vars(module).items()):
                if value is old:
                    setattr(module, attribute, new)


POINTS: dict[str, Callable[[CrashPoint], None]] = {
    "inside-claim": inside_claim,
    "inside-tick": inside_tick,
    "before-publish": before_publish,
    "before-stamp": before_stamp,
    "before-start": before_start,
    "before-finish": before_finish,
}


def miss_messages_after(first: timedelta) -> None:
    """Be impatient: the first look at a message that may be lost is usually after 45 s."""
    from routines_app.protocol.publish import outbox

    outbox.FIRST_LOOK = first


def time_ticks(path: Path) -> None:
    """One number per pass of the beat: the seconds that it took, waiting not included."""
    from routines_app.beat.loop import BeatLoop

    look = BeatLoop._guarded_look

    def timed(self: BeatLoop) -> float:
        began = time.monotonic()
        wait = look(self)
        with path.open("a") as stream:
            stream.write(f"{time.monotonic() - began:.4f}\n")
        return wait

    BeatLoop._guarded_look = timed  # type: ignore[method-assign]


def stamp_looks(path: Path) -> None:
    """One number per pass of the beat: the monotonic second at which it began.

    Where a beat is that comes to no other pass for a while is written beside it: the stack of its main thread.
    """
    from routines_app.beat.loop import BeatLoop

    look, looked_at = BeatLoop._guarded_look, [time.monotonic()]

    def stamped(self: BeatLoop) -> float:
        looked_at[0] = time.monotonic()
        with path.open("a") as stream:
            stream.write(f"{looked_at[0]:.3f}\n")
        return look(self)

    BeatLoop._guarded_look = stamped  # type: ignore[method-assign]
    threading.Thread(target=write_stacks, args=(looked_at, path.with_suffix(".stacks")), daemon=True).start()


def write_stacks(looked_at: list[float], path: Path) -> None:
    """Each second of a silence, from the third on. Not by `faulthandler`: from beside the interpreter it crashes it."""
    while True:
        time.sleep(1)
        silent = time.monotonic() - looked_at[0]
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        if silent > SILENT_SECONDS and frame is not None:
            where = [line for line in traceback.format_stack(frame) if "/routines_app/" in line or "/tests/" in line]
            with path.open("a") as stream:
                stream.write(f"silent for {silent:.1f} s at {time.monotonic():.1f}:\n{''.join(where)}")


beat_init.connect(install, weak=False)
worker_process_init.connect(install, weak=False)
