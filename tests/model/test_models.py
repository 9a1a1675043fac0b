from collections.abc import Callable
from typing import get_args

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.losses import classification_loss, span_loss
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)
from support.models.model_builders import TokenBatch, padded_mask, perturbed, random_batch
from support.models.tolerances import tolerance

POSITIONS = torch.tensor([1, 4, 10])
FORWARDS: dict[str, tuple[Callable[[ModelConfig], nn.Module], Callable[[nn.Module, TokenBatch], object]]] = {
    "pretraining": (ForPretraining, lambda model, batch: model(*batch.arguments, POSITIONS)),
    "masked language model": (ForMaskedLM, lambda model, batch: model(*batch.arguments, POSITIONS)),
    "classification": (
        lambda config: ForSequenceClassification(config, num_labels=3),
        lambda model, batch: model(*batch.arguments),
    ),
    "choices": (ForMultipleChoice, lambda model, batch: model(*(tensor[:, None] for tensor in batch.arguments))),
    "tokens": (
        lambda config: ForTokenClassification(config, num_labels=3),
        lambda model, batch: model(*batch.arguments),
    ),
    "spans": (ForQuestionAnswering, lambda model, batch: model(*batch.arguments)),
    "question_answering_no_answer": (
        ForQuestionAnsweringWithNoAnswer,
        lambda model, batch: model(*batch.arguments, batch.attention_mask, torch.zeros(3, dtype=torch.int64)),
    ),
    "embedder": (SentenceEmbedder, lambda model, batch: model(*batch.arguments)),
}
HEAD_DROPOUT = {  # shape of what the head drops from, as google-research/albert; nothing in pretraining and SQuAD 1.1
    "classification": (3, 32),
    "choices": (3, 32),
    "tokens": (3, 9, 32),
    "question_answering_no_answer": (3, 32),
}

FINISHED = {"pretraining": 6, "classification": 3, "choices": 3}
"""Positions that the last block computes: three first ones, and three masked ones; other models: all."""


def run(name: str, config: ModelConfig, batch: TokenBatch, *, training: bool = False):
    build, forward = FORWARDS[name]
    model = build(config).train(training)
    model.encoder.attention_kernel = "sdpa"
    return forward(model, batch)


def tensors(output) -> list[torch.Tensor]:
    return [output] if isinstance(output, torch.Tensor) else [part for part in output if isinstance(part, torch.Tensor)]


class RecordDropout(TorchFunctionMode):
    """Records the shape of every input of dropout, and the dropout rate of the attention."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped: list[tuple[int, ...]] = []
        self.attention: list[float] = []

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function is F.dropout and options.get("training", arguments[2:3] == (True,)):
            self.dropped.append(tuple(arguments[0].shape))
        if function is F.scaled_dot_product_attention:
            self.attention.append(options["dropout_p"])
        return function(*arguments, **options)


@pytest.mark.parametrize("name", FORWARDS)
def test_dropout_is_where_google_research_albert_has_it(tiny_config, batch, name):
    config = tiny_config.replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2, num_hidden_layers=2)
    with RecordDropout() as record:
        run(name, config, batch, training=True)
    embeddings, block = (3, 9, 16), [(3, 9, 32), (3, 9, 32)]  # after attention and after feed-forward
    last = [(1, FINISHED[name], 32)] * 2 if name in FINISHED else block
    head = [HEAD_DROPOUT[name]] if name in HEAD_DROPOUT else []
    assert record.dropped == [embeddings, *block, *last, *head]
    assert record.attention == [0.2, 0.2]


@pytest.mark.parametrize("name", FORWARDS)
def test_dropout_is_off_in_evaluation_mode(tiny_config, batch, name):
    config = tiny_config.replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2)
    with RecordDropout() as record:
        run(name, config, batch)
    assert not record.dropped
    assert set(record.attention) == {0.0}


@pytest.mark.parametrize("name", FORWARDS)
def test_models_have_a_gradient_for_every_parameter(tiny_config, batch, name):
    build, forward = FORWARDS[name]
    model = build(tiny_config)
    sum(tensor.square().sum() for tensor in tensors(forward(model, batch)) if tensor.ndim).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("name", FORWARDS)
@pytest.mark.parametrize("kernel", ["reference", "unpadded"])
def test_models_have_equal_outputs_with_every_kernel(tiny_config, batch, name, kernel: AttentionKernel):
    build, forward = FORWARDS[name]
    model = build(tiny_config).eval()
    expected = tensors(forward(model, batch))
    model.encoder.attention_kernel = kernel
    real = {(3, 9): batch.attention_mask, (3, 9, 3): batch.attention_mask}
    for ours, theirs in zip(tensors(forward(model, batch)), expected, strict=True):
        chosen = real.get(tuple(ours.shape), ...) if name != "question_answering_no_answer" else ...
        assert torch.allclose(ours[chosen], theirs[chosen], atol=tolerance(), rtol=tolerance(depth="compound"))


def test_masked_lm_predicts_at_the_flat_positions(tiny_config, batch):
    model = ForPretraining(tiny_config)
    everywhere = model(*batch.arguments, torch.arange(27)).mlm_logits
    assert torch.allclose(
        model(*batch.arguments, POSITIONS).mlm_logits, everywhere[POSITIONS], atol=tolerance(depth="operation")
    )
    assert model(*batch.arguments, POSITIONS[:0]).mlm_logits.shape == (0, tiny_config.vocab_size)


@pytest.mark.parametrize("build", [ForPretraining, ForMaskedLM])
def test_masked_lm_decoder_is_the_word_embeddings(tiny_config, batch, build):
    model = build(tiny_config)
    before = model(*batch.arguments, POSITIONS).mlm_logits
    unused = next(token for token in range(tiny_config.vocab_size) if token not in batch.input_ids)
    with torch.no_grad():
        model.encoder.embeddings.word.weight[unused] += 1
    changed = (model(*batch.arguments, POSITIONS).mlm_logits != before).any(0)
    assert changed.nonzero().flatten().tolist() == [unused]


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("lengths", [[9, 9, 9], [9, 5, 1]], ids=["full", "padded"])
@pytest.mark.parametrize("adapters", [None, LoRASettings(rank=2), LoRASettings(rank=2, per_layer=True)])
@pytest.mark.parametrize("name", ["classification", "choices"])
def test_models_that_skip_unused_positions_have_equal_logits_and_gradients(
    tiny_config, kernel: AttentionKernel, lengths, adapters, name
):
    build, forward = FORWARDS[name]
    model, batch = build(tiny_config).eval(), random_batch(tiny_config, padded_mask(lengths))
    if adapters:
        attach(model, adapters)
        nn.init.constant_(model.encoder.attentions[-1].query.lora_b, 0.02)
    model.encoder.attention_kernel = kernel
    found = []
    for logits in (forward(model, batch).logits, model.classifier(model.encoder(*batch.arguments).pooled)):
        model.zero_grad()
        logits.sin().sum().backward()
        found.append(torch.cat([logits.detach().flatten(), *(each.grad.flatten() for each in model.parameters())]))
    assert (found[0] - found[1]).norm() <= tolerance(depth="norm") * found[1].norm()


def test_multiple_choice_logits_do_not_depend_on_other_choices(tiny_config):
    model = ForMultipleChoice(tiny_config).eval()
    batch = random_batch(tiny_config, padded_mask([9, 5, 1, 7]))
    together = model(*(tensor.view(2, 2, 9) for tensor in batch.arguments)).logits
    alone = model(*(tensor[:, None] for tensor in batch.arguments)).logits
    assert together.shape == (2, 2)
    assert torch.allclose(together.flatten(), alone.flatten(), atol=tolerance())


@pytest.mark.parametrize("kernel", ["sdpa", "unpadded"])
@pytest.mark.parametrize("hidden_states", [False, True])
def test_classifiers_read_the_first_token_or_the_mean_of_all(
    tiny_config, batch, kernel: AttentionKernel, hidden_states
):
    model = perturbed(ForSequenceClassification(tiny_config, num_labels=3)).eval()
    by_mean = ForSequenceClassification(tiny_config.replace(classifier_pooling="mean"), num_labels=3).eval()
    by_mean.load_state_dict(model.state_dict())
    for each in (model, by_mean):
        each.encoder.attention_kernel = kernel
    states = model.encoder(*batch.arguments).last_hidden_state
    means = torch.stack([row[mask].mean(0) for row, mask in zip(states, batch.attention_mask, strict=True)])
    for each, vectors in ((model, states[:, 0]), (by_mean, means)):
        expected = model.classifier(torch.tanh(model.encoder.pooler(vectors)))
        logits = each(*batch.arguments, output_hidden_states=hidden_states).logits
        assert torch.allclose(logits, expected, atol=tolerance(), rtol=tolerance(depth="compound"))


def test_sentence_embedder_pools_the_mean_or_the_first_token(tiny_config, batch):
    mean, first = (SentenceEmbedder(tiny_config, pooling=pooling) for pooling in ("mean", "cls"))
    states = mean.encoder(*batch.arguments).last_hidden_state
    for row, length in enumerate((9, 5, 1)):
        assert torch.allclose(
            mean(*batch.arguments)[row], states[row, :length].mean(0), atol=tolerance(depth="operation")
        )
        assert torch.equal(first(*batch.arguments)[row], states[row, 0])


def test_sentence_embedder_gives_zeros_for_an_empty_sentence(tiny_config):
    batch = random_batch(tiny_config, padded_mask([4, 0]))
    assert not SentenceEmbedder(tiny_config)(*batch.arguments)[1].any()


def loss_of(name: str, output) -> torch.Tensor:
    labels = torch.tensor([0, 1, 2])
    if name in ("pretraining", "masked language model"):
        return classification_loss(output.mlm_logits, labels)
    if name == "spans":
        return span_loss(output, labels, labels)
    return classification_loss(output.logits, labels)


@pytest.mark.parametrize("name", ["pretraining", "masked language model", "classification", "spans"])
@pytest.mark.parametrize("sharing", ["all", "attention", "feed_forward", "none"])
def test_models_of_every_sharing_overfit_one_batch(tiny_config, name, sharing):
    build, forward = FORWARDS[name]
    config = tiny_config.replace(sharing=sharing, num_hidden_layers=2, initializer_range=0.05)
    batch = random_batch(config, padded_mask([9, 7, 8]))
    model = build(config).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = loss_of(name, forward(model, batch))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
