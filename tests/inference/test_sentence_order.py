"""The probability that two segments stand in the right order."""

import pytest
import torch

from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from support.models.tolerances import close_to

PAIRS = [("the film was good", "the music felt dull"), ("music", "this story is awful, in 1999.")]


def test_order_is_the_probability_of_class_0_of_the_sentence_pair_head(saved, tiny_tokenizer):
    model = load_model(saved["pretraining"])
    predictor = Predictor.load(saved["pretraining"])
    for pair, probability in zip(PAIRS, predictor.order_batch(PAIRS), strict=True):
        encoding = tiny_tokenizer.encode_pair(*pair)
        ids, types = torch.tensor([encoding.input_ids]), torch.tensor([encoding.token_type_ids])
        with torch.inference_mode():
            output = model(ids, torch.ones_like(ids, dtype=torch.bool), types, torch.tensor([1]))
        assert probability == close_to(output.sentence_pair_logits.softmax(-1)[0, 0].item())
        assert predictor.order(*pair) == close_to(probability)


@pytest.mark.parametrize("name", ["masked", "classifier", "embedder"])
def test_order_rejects_a_model_without_a_sentence_pair_head(saved, name):
    with pytest.raises(ConfigError, match="has no sentence-pair head"):
        Predictor.load(saved[name]).order("the film", "was good")


@pytest.mark.parametrize("pairing", ["nsp", "none"])
def test_order_rejects_a_head_that_was_not_trained_with_sop(tiny_tokenizer, config, tmp_path, pairing):
    model = ForPretraining(config, pairing=pairing)
    directory = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match=rf"\(sampling.pairing={pairing}\); give a model from `pretrain` with"):
        Predictor.load(directory).order("the film", "was good")


def test_order_rejects_a_segment_without_a_token(saved):
    with pytest.raises(DataError, match="pair 1: a segment has no tokens"):
        Predictor.load(saved["pretraining"]).order("the film", " ")
