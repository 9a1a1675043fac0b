"""Batches, backpressure, and requests that leave the queue."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from litebert.errors import DataError
from litebert.serving.http.http_errors import ModelFailedError, OverloadedError, RequestError
from litebert.serving.micro_batcher import MicroBatcher
from litebert.serving.model_operations import Operation
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_metrics import ServerMetrics

CLASSIFY, EMBED = Operation("classify"), Operation("embed")


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


def test_example_that_fails_does_not_fail_the_others_of_its_batch():
    model = Model()

    async def scenario() -> list[Any]:
        batches = batcher(model)
        first = await waiting_behind_one(batches)
        others = [asyncio.create_task(batches.submit(CLASSIFY, [(name, 1)])) for name in ("a", "bad", "broken", "b")]
        await asyncio.sleep(0)
        model.may_answer.set()
        await first
        results = await asyncio.gather(*others, return_exceptions=True)
        await batches.close()
        return results

    good, bad, broken, also_good = asyncio.run(scenario())
    assert (answers(good), answers(also_good)) == (["aa"], ["bb"])
    assert type(bad) is RequestError
    assert str(bad) == "bad example"
    assert type(broken) is ModelFailedError


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
