"""Fixtures that every test may use. One thread a process, so that two workers share two cores, unless
OMP_NUM_THREADS says otherwise.
"""

import gc
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from support.models import shape_checks
from support.programs import forks
from support.programs.processes import PYTHONPATH
from support.runs import shortcuts

# No deadline: a busy machine is no failure. What one run sees every run sees; the full tests look elsewhere each time.
settings.register_profile("laws", deadline=None, derandomize=not os.environ.get("LITEBERT_FULL_TESTS"))
settings.load_profile("laws")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["PYTHONPATH"] = PYTHONPATH
os.environ.setdefault(forks.SERVER, forks.ADDRESS)


@pytest.fixture
def forked_python() -> Iterator[None]:
    """Python commands that the test starts are forks: they need not import torch again."""
    with forks.forked_python():
        yield


def pytest_collection_finish() -> None:
    """Collections of garbage leave out what is imported by now: two million objects, of which none is garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    shape_checks.start_test()


def _set_threads() -> None:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


@pytest.fixture(autouse=True, scope="session")
def _threads() -> None:
    """Before the fixtures of modules."""
    _set_threads()


@pytest.fixture(autouse=True)
def _threads_of_each_test(_threads: None) -> Iterator[None]:
    """Commands set the threads of their process: those of the environment are set again."""
    yield
    _set_threads()


@pytest.fixture(autouse=True)
def _terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may refuse or force colours, or have a narrow window: the tests say it themselves."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture(autouse=True)
def _library_logging() -> None:
    """Undo what the command line does to logging, so that each test sees the library's records."""
    logger = logging.getLogger("litebert")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@pytest.fixture(autouse=True)
def _fp32_is_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `auto` measures, so that no result of a test depends on the processor."""
    from litebert.model import matmul_speed

    fp32 = matmul_speed.MatmulSpeed({"fp32": 100.0, "bf16": 50.0})
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *arguments, **options: fp32)


@pytest.fixture(autouse=True, scope="session")
def _shortcuts() -> Iterator[dict]:
    before = shortcuts.set_all()
    yield before
    shortcuts.set_all(before)


@pytest.fixture
def full_reports(_shortcuts: dict) -> Iterator[None]:
    """Reports as users get them."""
    shortcuts.set_all(_shortcuts)
    yield
    shortcuts.set_all()


@pytest.fixture(scope="session")
def tiny_tokenizer(tmp_path_factory):
    """A tokenizer of 64 pieces over simple opinions of films."""
    from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer

    subjects = [
        "the film",
        "this story",
        "a long movie",
        "the old actor",
        "her first play",
        "that quiet ending",
        "the music",
    ]
    opinions = [
        "was good",
        "was bad",
        "felt great",
        "felt dull",
        "is wonderful",
        "is awful",
        "seemed bright",
        "seemed boring",
    ]
    texts = [
        f"{subject} {opinion}, in {year}." for subject in subjects for opinion in opinions for year in (1999, 2024)
    ]
    directory = tmp_path_factory.mktemp("tokenizer")
    return train_tokenizer(texts, TokenizerSettings(vocab_size=64, character_coverage=1.0), directory)


@pytest.fixture(scope="session")
def small_config(tiny_tokenizer):
    """A model over the pieces of `tiny_tokenizer`, of weights so large that its random answers differ."""
    from litebert.model.config import ModelConfig

    return ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=96,
        initializer_range=0.5,
    )


@pytest.fixture(scope="session")
def film_windows(tiny_tokenizer):
    """Windows over questions about films, of several lengths, with answers and without."""
    from support.data.question_builders import QUESTIONS, encoded, question

    shorter = question("q5", "Who?", "actor", context="The old actor.")
    return encoded(tiny_tokenizer, (*QUESTIONS, shorter), max_length=96)
