"""Models as a caller of transformers calls them: optional and integer inputs, labels, hidden states, attentions."""

import pytest
import torch

from litebert.errors import ConfigError
from litebert.model.io.model_directory import save_model
from litebert.model.model_inputs import validate_masked_labels
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)
from support.models.tolerances import close_to, within

CLOSE = within()

IDS = torch.tensor([[2, 7, 9, 3, 0], [2, 8, 3, 6, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
TYPES = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])
MODELS = {
    "ForMaskedLM": (lambda config: ForMaskedLM(config), {"labels": torch.tensor([[-100, 5, -100, -100, -100]] * 2)}),
    "ForSequenceClassification": (
        lambda config: ForSequenceClassification(config, num_labels=3),
        {"labels": torch.tensor([2, 0])},
    ),
    "ForTokenClassification": (
        lambda config: ForTokenClassification(config, num_labels=3),
        {"labels": torch.tensor([[-100, 1, 2, -100, -100], [-100, 0, -100, 1, -100]])},
    ),
    "ForQuestionAnswering": (
        lambda config: ForQuestionAnswering(config),
        {"start_positions": torch.tensor([1, 3]), "end_positions": torch.tensor([2, 9])},
    ),
}


def logits_of(output):
    return getattr(output, "start_logits", None) if hasattr(output, "start_logits") else output.logits


@pytest.mark.parametrize("name", MODELS)
def test_integer_masks_and_missing_token_types_have_the_stated_defaults(small_config, name):
    model = MODELS[name][0](small_config).eval()
    bools = logits_of(model(IDS, MASK.bool(), torch.zeros_like(IDS)))
    assert torch.equal(logits_of(model(input_ids=IDS, attention_mask=MASK)), bools)
    everything = logits_of(model(IDS, torch.ones_like(MASK).bool(), torch.zeros_like(IDS)))
    assert torch.equal(logits_of(model(IDS)), everything)


@pytest.mark.parametrize("name", MODELS)
def test_loss_hidden_states_and_attentions_are_those_of_transformers(small_config, name, tmp_path):
    transformers = pytest.importorskip("transformers")
    build, labels = MODELS[name]
    model = build(small_config.replace(num_hidden_layers=3)).eval()
    save_model(model, tmp_path / "model")
    reference = getattr(transformers, f"Albert{name}").from_pretrained(tmp_path / "model", attn_implementation="eager")
    inputs = {"input_ids": IDS, "attention_mask": MASK, "token_type_ids": TYPES, **labels}
    asked = {"output_hidden_states": True, "output_attentions": True}
    with torch.inference_mode():
        found, expected = model(**inputs, **asked), reference.eval()(**inputs, **asked)
    real = MASK.bool()
    assert found.loss == close_to(float(expected.loss))
    assert len(found.hidden_states) == len(expected.hidden_states) == 4
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(one[real], other[real], **CLOSE)
    for one, other in zip(found.attentions, expected.attentions, strict=True):
        queries = real[:, None].expand(one.shape[:3])
        torch.testing.assert_close(one[queries], other[queries], **CLOSE)


def test_pretraining_loss_is_the_sum_of_both_heads(small_config):
    model = ForPretraining(small_config).eval()
    labels = MODELS["ForMaskedLM"][1]["labels"]
    both = model(IDS, MASK, labels=labels, sentence_order_label=torch.tensor([0, 1]))
    tokens, pairs = model(IDS, MASK, labels=labels), model(IDS, MASK, sentence_order_label=torch.tensor([0, 1]))
    torch.testing.assert_close(both.loss, tokens.loss + pairs.loss)
    assert both.mlm_logits.shape[0] == 2
    assert pairs.mlm_logits.shape[0] == IDS.numel()
    assert model(IDS).loss is None


def test_choices_and_sentence_vectors_accept_integer_masks(small_config):
    chooser, embedder = ForMultipleChoice(small_config).eval(), SentenceEmbedder(small_config).eval()
    output = chooser(IDS[None], MASK[None], labels=torch.tensor([1]), output_hidden_states=True)
    assert torch.equal(output.loss, torch.nn.functional.cross_entropy(output.logits, torch.tensor([1])))
    assert output.hidden_states[0].shape[:2] == IDS.shape
    assert torch.equal(embedder(IDS, MASK), embedder(IDS, MASK.bool(), torch.zeros_like(IDS)))


def test_kind_of_the_labels_decides_the_loss(small_config):
    scores = ForSequenceClassification(small_config, num_labels=1).eval()
    several = ForSequenceClassification(small_config, num_labels=3).eval()
    numbers, flags = torch.tensor([1.5, 2.0]), torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    squared = torch.nn.functional.mse_loss(scores(IDS).logits[:, 0], numbers)
    binary = torch.nn.functional.binary_cross_entropy_with_logits(several(IDS).logits, flags)
    assert torch.equal(scores(IDS, labels=numbers).loss, squared)
    assert torch.equal(several(IDS, labels=flags).loss, binary)


def test_masked_labels_are_one_for_each_position_and_the_only_labels(tiny_config):
    model, positions = ForPretraining(tiny_config, seed=0), torch.tensor([1, 2])
    ids, labels = torch.zeros(1, 4, dtype=torch.int64), torch.tensor([0, 1])
    with pytest.raises(ConfigError, match="2 labels for no masked_positions"):
        model(ids, masked_labels=labels)
    with pytest.raises(ConfigError, match="2 labels for 1 masked_positions"):  # in a model, jaxtyping says so before
        validate_masked_labels(labels, positions[:1], others=())
    with pytest.raises(ConfigError, match="remove one"):
        model(ids, masked_positions=positions, masked_labels=labels, labels=ids)


def test_one_class_of_tokens_and_one_option_have_no_loss(small_config):
    """Only one class of a sequence stands for a number."""
    tokens = ForTokenClassification(small_config, num_labels=1).eval()
    labels = torch.where(MASK.bool(), 0, -100)
    assert tokens(IDS, MASK, labels=labels).loss == 0
    choices = ForMultipleChoice(small_config).eval()
    assert choices(IDS[:, None], MASK[:, None], labels=torch.zeros(len(IDS), dtype=torch.int64)).loss == 0
