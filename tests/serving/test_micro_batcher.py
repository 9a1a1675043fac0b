"""Batches, backpressure, and requests that leave the queue."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from litebert.errors import DataError, NotFiniteError
from litebert.serving.http.http_errors import ModelFailedError, OverloadedError, RequestError
from litebert.serving.micro_batcher import LONGEST_RETRY_SECONDS, Entry, MicroBatcher
from litebert.serving.model_operations import Operation
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.served_model import _entry_times
from litebert.serving.server_metrics import ServerMetrics

CLASSIFY, EMBED = Operation("classify"), Operation("embed")
NAMES = ("a", "bad", "broken", "diverged", "b")


class Model:
    """Doubles numbers when it may; remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.may_answer = threading.Event()

    def __call__(self, operation: Operation, examples: Sequence[Any]) -> list[Any]:
        self.may_answer.wait(10)
        self.batches.append(list(examples))
        if "bad" in examples:
            raise DataError("bad example")
        if "broken" in examples:
            raise ZeroDivisionError
        if "diverged" in examples:
            raise NotFiniteError("the model")
        if "lost" in examples:
            return []
        return [2 * example for example in examples]


def batcher(model: Model, **settings: Any) -> MicroBatcher:
    chosen = ServeSettings(models=("a",), max_wait_milliseconds=0, **settings)
    return MicroBatcher(model, chosen, ServerMetrics().of_model("a"))


async def waiting_behind_one(batches: MicroBatcher) -> asyncio.Task[Any]:
    """A request that the model has begun, so that the next ones wait."""
    first = asyncio.create_task(batches.submit(EMBED, [("first", 1)]))
    await asyncio.sleep(0.05)
    return first


def answers(entries: Sequence[Any]) -> list[Any]:
    return [entry.answer.result() for entry in entries]


def test_waiting_requests_share_batches_of_one_operation_and_similar_lengths():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model, max_batch_tokens=12)
        first = await waiting_behind_one(batches)
        lengths = {"a": 5, "b": 100, "c": 6, "d": 5, "e": 1}
        others = [asyncio.create_task(batches.submit(CLASSIFY, [(name, size)])) for name, size in lengths.items()]
        others.append(asyncio.create_task(batches.submit(EMBED, [("z", 5)])))
        await asyncio.sleep(0)
        model.may_answer.set()
        results = [answers(each)[0] for each in await asyncio.gather(first, *others)]
        await batches.close()
        return results

    assert asyncio.run(scenario()) == ["firstfirst", "aa", "bb", "cc", "dd", "ee", "zz"]
    assert model.batches == [["first"], ["a", "d"], ["b"], ["c", "e"], ["z"]]


def test_request_of_a_client_that_left_is_not_answered():
    model = Model()

    async def scenario() -> None:
        batches = batcher(model)
        first = await waiting_behind_one(batches)
        gone = asyncio.create_task(batches.submit(CLASSIFY, [("gone", 5), ("too", 5)]))
        stays = asyncio.create_task(batches.submit(CLASSIFY, [("stays", 5)]))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        model.may_answer.set()
        await asyncio.gather(first, stays)
        await batches.close()

    asyncio.run(scenario())
    assert model.batches == [["first"], ["stays"]]


def test_full_queue_rejects_requests_with_the_time_to_retry():
    model = Model()

    async def scenario() -> None:
        batches = batcher(model, max_queue_tokens=10)
        first = await waiting_behind_one(batches)
        second = asyncio.create_task(batches.submit(CLASSIFY, [("second", 10)]))
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="10 tokens wait") as error:
            await batches.submit(CLASSIFY, [("third", 1)])
        assert int(error.value.headers["Retry-After"]) >= 1
        model.may_answer.set()
        await asyncio.gather(first, second)
        assert answers(await batches.submit(CLASSIFY, [("fourth", 1)])) == ["fourthfourth"]
        await batches.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("sizes", "is_accepted"), [((4,), True), ((5,), False), ((2, 3), False), ((100,), False)])
def test_request_waits_only_if_the_queue_has_room_for_all_of_it(sizes, is_accepted):
    model = Model()

    async def scenario() -> bool:
        batches = batcher(model, max_queue_tokens=10)
        first = await waiting_behind_one(batches)
        second = asyncio.create_task(batches.submit(CLASSIFY, [("second", 6)]))
        await asyncio.sleep(0)
        third = asyncio.create_task(batches.submit(CLASSIFY, [("third", size) for size in sizes]))
        await asyncio.sleep(0)
        model.may_answer.set()
        found = await asyncio.gather(first, second, third, return_exceptions=True)
        await batches.close()
        return not isinstance(found[2], OverloadedError)

    assert asyncio.run(scenario()) is is_accepted


def test_request_larger_than_the_queue_waits_while_nothing_else_does():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model, max_queue_tokens=10)
        first = await waiting_behind_one(batches)
        large = asyncio.create_task(batches.submit(CLASSIFY, [("large", 100)]))
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="100 tokens wait"):
            await batches.submit(CLASSIFY, [("small", 1)])
        model.may_answer.set()
        found = [answers(each)[0] for each in await asyncio.gather(first, large)]
        await batches.close()
        return found

    assert asyncio.run(scenario()) == ["firstfirst", "largelarge"]


def test_unexpected_error_between_batches_fails_one_batch_and_the_next_is_answered(caplog):
    model = Model()
    model.may_answer.set()

    async def scenario() -> list[Any]:
        batches = batcher(model)
        with pytest.raises(ModelFailedError):
            await asyncio.wait_for(batches.submit(CLASSIFY, [("lost", 1), ("lost", 1)]), 10)
        found = answers(await asyncio.wait_for(batches.submit(CLASSIFY, [("next", 1)]), 10))
        await batches.close()
        return found

    assert asyncio.run(scenario()) == ["nextnext"]
    assert "the model failed on an input: ValueError" in caplog.text


@pytest.mark.parametrize(("speed", "seconds"), [(10.0, 5), (1000.0, 1), (0.1, LONGEST_RETRY_SECONDS)])
def test_time_to_retry_is_the_time_that_the_queue_takes(speed, seconds):
    batches = batcher(Model(), max_queue_tokens=50)
    batches._tokens_per_second, batches._waiting_tokens = speed, 50
    with pytest.raises(OverloadedError) as error:
        batches.check_capacity()
    assert error.value.headers["Retry-After"] == str(seconds)


def test_tokens_of_a_client_that_left_make_room_in_the_queue():
    model = Model()

    async def scenario() -> list[bool]:
        batches = batcher(model, max_queue_tokens=10)
        first = await waiting_behind_one(batches)
        gone = asyncio.create_task(batches.submit(CLASSIFY, [("gone", 10)]))
        await asyncio.sleep(0)
        was_full = [batches.is_full]
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        was_full.append(batches.is_full)
        model.may_answer.set()
        await first
        await batches.close()
        return was_full

    assert asyncio.run(scenario()) == [True, False]


def test_client_that_leaves_during_its_batch_does_not_stop_the_next_one():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model)
        first = await waiting_behind_one(batches)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        model.may_answer.set()
        found = answers(await asyncio.wait_for(batches.submit(CLASSIFY, [("next", 1)]), 10))
        await batches.close()
        return found

    assert asyncio.run(scenario()) == ["nextnext"]


def test_example_that_fails_does_not_fail_the_others_of_its_batch():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model)
        first = await waiting_behind_one(batches)
        others = [asyncio.create_task(batches.submit(CLASSIFY, [(name, 1)])) for name in NAMES]
        await asyncio.sleep(0)
        model.may_answer.set()
        await first
        results = await asyncio.gather(*others, return_exceptions=True)
        await batches.close()
        return results

    good, bad, broken, diverged, also_good = asyncio.run(scenario())
    assert (answers(good), answers(also_good)) == (["aa"], ["bb"])
    assert type(bad) is RequestError
    assert str(bad) == "bad example"
    assert type(broken) is type(diverged) is ModelFailedError


def test_closing_answers_what_waits():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model)
        first = await waiting_behind_one(batches)
        second = asyncio.create_task(batches.submit(CLASSIFY, [("second", 1)]))
        await asyncio.sleep(0)
        closing = asyncio.create_task(batches.close())
        model.may_answer.set()
        await closing
        return [answers(each)[0] for each in await asyncio.gather(first, second)]

    assert asyncio.run(scenario()) == ["firstfirst", "secondsecond"]


def test_fast_arrivals_wait_for_each_other_and_slow_ones_do_not():
    model = Model()
    model.may_answer.set()

    async def scenario() -> tuple[int, int]:
        batches = MicroBatcher(
            model, ServeSettings(models=("a",), max_wait_milliseconds=200), ServerMetrics().of_model("a")
        )
        await batches.submit(CLASSIFY, [("alone", 1)])
        slow = len(model.batches)
        for _ in range(60):  # at once: the average interval falls
            batches._enqueue([])
        requests = []
        for name in "abc":
            requests.append(asyncio.create_task(batches.submit(CLASSIFY, [(name, 1)])))
            await asyncio.sleep(0.01)
        await asyncio.gather(*requests)
        await batches.close()
        return slow, len(model.batches)

    assert asyncio.run(scenario()) == (1, 2)


@pytest.mark.parametrize(("tokens", "waits"), [(15, True), (16, False)])
def test_batch_waits_for_more_only_until_it_is_full(tokens, waits):
    async def scenario() -> bool:
        settings = ServeSettings(models=("a",), max_wait_milliseconds=60_000, max_batch_tokens=16)
        batches = MicroBatcher(Model(), settings, ServerMetrics().of_model("a"))
        batches._enqueue([Entry(CLASSIFY, "a", tokens, asyncio.get_running_loop().create_future())])
        waiting = asyncio.create_task(batches._wait_for_more())
        await asyncio.sleep(0)
        still_waits = not waiting.done()
        waiting.cancel()
        return still_waits

    assert asyncio.run(scenario()) is waits


def test_headers_have_the_longest_time_in_the_queue_and_the_time_of_each_batch_once():
    first, second = (1.0, 2.0, 5.0), (1.5, 5.0, 6.0)
    entries = [Entry(CLASSIFY, "a", 1, None, *times) for times in (first, first, second)]
    assert _entry_times(entries) == {"x-queue-time": "3500.0", "x-inference-time": "4000.0"}
