import numpy as np
import pytest

from litebert.tokenization.word_starts import google_word_start, word_start


@pytest.mark.parametrize(
    ("piece", "original", "any_script"),
    [
        ("▁the", True, True),
        ("▁", True, True),
        ("<unk>", True, True),
        ("[MASK]", True, True),
        ("ing", False, False),
        ("s.", False, False),
        (".", True, True),
        ("'", True, True),
        ("'s", True, True),
        ("..", False, True),
        ("2011", True, True),
        ("é", True, False),
        ("ность", True, False),
        ("이다", True, False),
        ("\u093e", True, False),
        ("我", True, True),
        ("々", True, True),
        ("カー", True, True),
        ("ไทย", True, True),
        ("€", True, True),
    ],
)
def test_both_rules(piece, original, any_script):
    assert google_word_start(piece) is original
    assert word_start(piece) is any_script


def test_a_tokenizer_holds_both_as_arrays_that_cannot_be_changed(numbers):
    for starts in (numbers.word_starts, numbers.google_word_starts):
        assert starts.dtype == np.bool_
        assert starts.shape == (numbers.vocab_size,)
        assert not starts.flags.writeable
    assert numbers.word_starts[: numbers.mask_id + 1].all()
