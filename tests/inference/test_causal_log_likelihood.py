"""Causal log-likelihood: equal to a plain loop over prefixes."""

import numpy as np
import pytest
import torch

from litebert.errors import DataError
from litebert.inference.causal_log_likelihood import causal_log_likelihoods
from litebert.model.models import ForMaskedLM, ForPretraining

SENTENCES = ["the film was good", "a long movie felt great, in 1999.", "was", "the old actor seemed boring"]


def plain_score(model, tokenizer, sentence):
    """One forward a token, over the tokens before it only."""
    ids = [tokenizer.cls_id, *tokenizer.encode(sentence), tokenizer.sep_id]
    total = 0.0
    for length in range(1, len(ids)):
        prefix = torch.tensor([ids[:length]])
        output = model.encoder(prefix, torch.ones_like(prefix, dtype=torch.bool), torch.zeros_like(prefix), causal=True)
        logits = model.mlm(output.last_hidden_state[0, -1], model.encoder.embeddings.word.weight)
        total += logits.log_softmax(-1)[ids[length]].item()
    return total


@pytest.mark.parametrize("architecture", [ForPretraining, ForMaskedLM])
def test_causal_scores_equal_a_plain_loop_over_prefixes(architecture, small_config, tiny_tokenizer):
    model = architecture(small_config, seed=1).eval()
    expected = [plain_score(model, tiny_tokenizer, sentence) for sentence in SENTENCES]
    np.testing.assert_allclose(causal_log_likelihoods(model, tiny_tokenizer, SENTENCES), expected, rtol=1e-5)


def test_causal_score_of_an_empty_sentence_is_refused(small_config, tiny_tokenizer):
    with pytest.raises(DataError, match=r"sentence 2: .* expected 1 to"):
        causal_log_likelihoods(ForPretraining(small_config), tiny_tokenizer, ["the film", ""])
