"""Settings may stand anywhere on the command line."""

import pytest

from litebert.cli.arguments.word_order import positional_first, unknown_options
from litebert.cli.finetune import finetune
from litebert.cli.from_text import adapt
from litebert.cli.predictions import predict
from litebert.cli.pretrain import pretrain
from litebert.cli.sweep import sweep


@pytest.mark.parametrize(
    ("function", "words", "expected"),
    [
        (pretrain, "tiny a=1 --corpus c --out o b=2", "tiny a=1 b=2 --corpus c --out o"),
        (pretrain, "--corpus c tiny --dry-run a=1 --out=o b=2", "tiny a=1 b=2 --corpus c --dry-run --out=o"),
        (pretrain, "tiny --out a=1 --corpus c", "tiny --out a=1 --corpus c"),
        (sweep, "base --grid a=1,2 b=3 --model m c=4", "base c=4 --grid a=1,2 b=3 --model m"),
        (sweep, "base --seeds 3 c=4 --from_scratch d=5", "base c=4 d=5 --seeds 3 --from_scratch"),
        (finetune, "default --options a b --train f c=1 --model m", "default c=1 --options a b --train f --model m"),
        (finetune, "default -- --train", "default -- --train"),
        (adapt, "m a.txt --out o b=1 --text t c=2", "m a.txt b=1 c=2 --out o --text t"),
    ],
)
def test_recipe_and_settings_are_moved_before_the_options_and_values_stay(function, words, expected):
    assert positional_first(words.split(), function) == expected.split()


def test_commands_without_settings_are_left_alone():
    words = ["model", "--out", "file", "rows.csv"]
    assert positional_first(words, predict) == words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tiny --corpus c --out=o --print_settings", {}),
        ("tiny --corpus c --epochs 3 a=1 --lr=1 --out o", {"--epochs": ["3"], "--lr": ["1"]}),
        ("tiny --epochs --lr 1 2", {"--epochs": [], "--lr": ["1", "2"]}),
        ("tiny -- --epochs 3", {}),
    ],
)
def test_unknown_options_have_the_words_after_them(words, expected):
    assert unknown_options(words.split(), pretrain) == expected
