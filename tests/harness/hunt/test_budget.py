"""The budget of a hunt, and the alarm that ends a call."""

import signal
import threading
import time
from math import inf

import pytest

from harness.hunt.budget import Budget, TimeUp


def test_evaluations_end_a_hunt_exactly() -> None:
    """`room` never gives more than what is left."""
    budget = Budget(None, 10)
    assert 7 == budget.room(7)
    budget.evaluations += 7
    assert 3 == budget.room(7)
    assert not budget.spent()
    budget.evaluations += 3
    assert 0 == budget.room(7)
    assert budget.spent()
    assert 1.0 == budget.fraction


def test_seconds_end_a_hunt_earlier_by_the_reserve() -> None:
    """A reserve is left for what comes after the search."""
    budget = Budget(3600.0)
    assert not budget.spent()
    assert budget.spent(reserve=3600.0)
    assert 3599 < budget.left <= 3600


def test_no_limit_is_never_reached() -> None:
    """Without a limit on seconds, an infinity of them is left."""
    budget = Budget(None, 1)
    assert inf == budget.left
    assert not budget.spent(reserve=10.0)


def test_an_alarm_ends_a_call_that_does_not_return() -> None:
    """TimeUp is raised in the middle of the call, soon after the time is over."""
    budget = Budget(0.1)
    with pytest.raises(TimeUp), budget.alarm(), budget.calling():
        time.sleep(20)
    assert 0.1 <= budget.seconds < 5


def test_a_call_that_is_ended_after_long_is_named() -> None:
    """Which inputs, and after how many seconds; one that has just begun is not."""
    budget = Budget(1.2)
    with pytest.raises(TimeUp), budget.alarm(), budget.calling(lambda: "2 inputs"):
        time.sleep(20)
    assert budget.unreturned is not None
    assert budget.unreturned.startswith("a call on 2 inputs did not return within 1.")
    short = Budget(0.01)
    with pytest.raises(TimeUp), short.alarm(), short.calling(lambda: "2 inputs"):
        time.sleep(20)
    assert short.unreturned is None


def test_an_alarm_leaves_all_else_alone() -> None:
    """Between calls nothing is raised, and the signal's handler comes back."""
    before = signal.getsignal(signal.SIGALRM)
    budget = Budget(0.05)
    with budget.alarm():
        time.sleep(0.6)
        assert budget.spent()
    assert before == signal.getsignal(signal.SIGALRM)
    assert 0.0 == signal.getitimer(signal.ITIMER_REAL)[0]


def test_an_alarm_is_not_taken_from_others() -> None:
    """A handler that is there stays, and so does a budget in another thread without an alarm."""
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        with Budget(0.01).alarm():
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [signal.SIGALRM] == heard

    def elsewhere() -> None:
        with Budget(0.01).alarm():
            heard.append(0)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [signal.SIGALRM, 0] == heard
