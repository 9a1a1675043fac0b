"""The first signal is remembered; a second Ctrl-C has its default effect."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest
import torch

from litebert.model.config import ModelConfig
from litebert.model.models import ForPretraining, ForQuestionAnsweringWithNoAnswer, ForSequenceClassification
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.signals import WATCHED, StopSignals, interruptible

pytestmark = pytest.mark.usefixtures("forked_python")


@pytest.fixture
def sighup_not_ignored():
    """The tests themselves may run under nohup."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", WATCHED)
@pytest.mark.usefixtures("sighup_not_ignored")
def test_stop_signals_remember_the_first_and_do_not_catch_a_second_ctrl_c(number):
    with StopSignals() as signals:
        assert signals.number == 0
        os.kill(os.getpid(), number)
        assert signals.number == number
        for again in WATCHED:
            if again != signal.SIGINT:
                os.kill(os.getpid(), again)
        assert signals.number == number, "of a job whose processes all get it, and once more from torchrun"
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL


CONFIG = ModelConfig(
    hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, embedding_size=8, vocab_size=9
)
INPUTS = (torch.ones(1, 4, dtype=torch.long), torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 4, dtype=torch.long))
CALLS = {
    "pretraining": lambda: ForPretraining(CONFIG),
    "first token": lambda: ForSequenceClassification(CONFIG, num_labels=2),
    "mean": lambda: ForSequenceClassification(CONFIG.replace(classifier_pooling="mean"), num_labels=2),
    "beams": lambda: partial(ForQuestionAnsweringWithNoAnswer(CONFIG).beams, answer_mask=INPUTS[1]),
}


@pytest.mark.usefixtures("sighup_not_ignored")
@pytest.mark.parametrize("name", CALLS)
def test_signal_leaves_an_evaluation_before_the_model_or_its_encoder_is_called(name):
    call, calls = CALLS[name](), 0
    model = call if isinstance(call, torch.nn.Module) else call.func.__self__
    with StopSignals() as signals, interruptible(model, signals, DistributedContext.current()):
        for _ in range(3):
            call(*INPUTS)
            calls += 1
            os.kill(os.getpid(), signal.SIGTERM)
    assert (signals.number, calls) == (signal.SIGTERM, 1)


STUBBORN = """
import time
from litebert.training.loop.signals import StopSignals

with StopSignals() as signals:
    print("ready", flush=True)
    while not signals.number:
        time.sleep(0.01)
    print("saving", flush=True)
    time.sleep(60)
"""


def test_stop_signals_let_a_second_ctrl_c_end_the_process():
    process = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True)
    with process.stdout as lines:
        assert lines.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert lines.readline() == "saving\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT


@pytest.mark.usefixtures("sighup_not_ignored")
def test_stop_signals_restore_the_handlers():
    before = [signal.getsignal(watched) for watched in WATCHED]
    with StopSignals():
        assert [signal.getsignal(watched) for watched in WATCHED] != before
    assert [signal.getsignal(watched) for watched in WATCHED] == before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
def test_stop_signals_leave_sighup_ignored_under_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signals.number == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_stop_signals_do_nothing_outside_the_main_thread():
    before = [signal.getsignal(watched) for watched in WATCHED]

    def watch() -> None:
        with StopSignals():
            assert [signal.getsignal(watched) for watched in WATCHED] == before

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
