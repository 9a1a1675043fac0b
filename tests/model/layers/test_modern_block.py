"""The block as it would be built today, against a plain implementation and in every way to run it."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import ForPretraining
from support.models.model_builders import MODERN, fresh_encoder, packed_rows, padded_mask, perturbed, random_batch
from support.models.tolerances import tolerance, within
from support.models.unchecked import exported_difference, graphs, packed_difference

VARIANTS = {
    **{name: {name: value} for name, value in MODERN.items()},
    "rotary and gated": {"position_embedding": "rotary", "gated_feed_forward": True, "hidden_act": "gelu"},
    "all": MODERN,
    "all, two groups of two": {**MODERN, "num_hidden_groups": 2, "inner_group_num": 2},
}
LENGTHS, ROWS = [5, 3, 9, 1, 6], [[0, 1], [2], [3, 4]]


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def config(request, tiny_config) -> ModelConfig:
    return tiny_config.replace(**request.param)


def plain_block(p: dict[str, torch.Tensor], config: ModelConfig, x: torch.Tensor, step: int) -> torch.Tensor:
    """Block number `step` on one sequence S H, from the formulas of the papers."""
    return plain_block_and_probabilities(p, config, x, step)[0]


def plain_block_and_probabilities(
    p: dict[str, torch.Tensor], config: ModelConfig, x: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output S H of block number `step` and its attention probabilities A S S."""
    probabilities = []
    heads, size = config.num_attention_heads, config.head_size
    stored = step // config.inner_group_num * config.num_hidden_groups // config.num_hidden_layers
    stored = stored * config.inner_group_num + step % config.inner_group_num

    def dense(kind, name, value):
        weight, bias = p[f"{kind}.{stored}.{name}.weight"], p.get(f"{kind}.{stored}.{name}.bias")
        if config.recursion_lora_rank:
            weight = weight + p[f"recursion_lora.{step}.{name}.b"] @ p[f"recursion_lora.{step}.{name}.a"]
        return F.linear(value, weight, bias)

    def norm(kind, value):
        weight, bias = p[f"{kind}.{stored}.norm.weight"], p[f"{kind}.{stored}.norm.bias"]
        return F.layer_norm(value, (config.hidden_size,), weight, bias, config.layer_norm_eps)

    def turn(vectors):
        """Rotates (v[i], v[i + D/2]) as a complex number by p · theta^(-2 i / D)."""
        if config.position_embedding == "absolute":
            return vectors
        angles = torch.arange(len(x))[:, None] * config.rope_theta ** (-torch.arange(0, size, 2) / size)
        turned = torch.complex(vectors[..., : size // 2], vectors[..., size // 2 :]) * torch.exp(1j * angles)
        return torch.cat([turned.real, turned.imag], -1).to(vectors)

    def attention(value):
        q, k, v = (
            dense("attentions", n, value).view(-1, heads, size).transpose(0, 1) for n in ("query", "key", "value")
        )
        probabilities.append((turn(q) @ turn(k).mT / size**0.5).softmax(-1))
        return dense("attentions", "output", (probabilities[0] @ v).transpose(0, 1).flatten(1))

    def feed_forward(value):
        act = F.gelu if config.hidden_act == "gelu" else lambda t: F.gelu(t, approximate="tanh")
        up = dense("feed_forwards", "up", value)
        inner = act(dense("feed_forwards", "gate", value)) * up if config.gated_feed_forward else act(up)
        return dense("feed_forwards", "down", inner)

    for kind, function in (("attentions", attention), ("feed_forwards", feed_forward)):
        x = x + function(norm(kind, x)) if config.norm_first else norm(kind, x + function(x))
    return x, probabilities[0]


def plain_encoder(model: torch.nn.Module, config: ModelConfig, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
    """`last_hidden_state` of one sequence without padding."""
    p = dict(model.named_parameters())
    x = p["embeddings.word.weight"][ids] + p["embeddings.token_type.weight"][types]
    if config.position_embedding == "absolute":
        x = x + p["embeddings.position.weight"][: len(ids)]
    norm = (p["embeddings.norm.weight"], p["embeddings.norm.bias"], config.layer_norm_eps)
    x = F.linear(F.layer_norm(x, x.shape[-1:], *norm), p["projection.weight"], p["projection.bias"])
    for step in range(config.num_hidden_layers * config.inner_group_num):
        x = plain_block(p, config, x, step)
    if not config.norm_first:
        return x
    norm = (p["final_norm.weight"], p["final_norm.bias"], config.layer_norm_eps)
    return F.layer_norm(x, x.shape[-1:], *norm)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_modern_encoder_equals_a_plain_implementation(config, kernel):
    model = perturbed(fresh_encoder(config)).double()
    model.attention_kernel = kernel
    batch = random_batch(config, padded_mask(LENGTHS))
    states = model(*batch.arguments).last_hidden_state
    for row, length in enumerate(LENGTHS):
        expected = plain_encoder(model, config, batch.input_ids[row, :length], batch.token_type_ids[row, :length])
        assert torch.allclose(states[row, :length], expected, **within(depth="operation"))  # angles are in float32


def pretraining(config, kernel, arguments, predicted, *, interval=None):
    model = perturbed(ForPretraining(config)).to(torch.float64)
    model.encoder.attention_kernel, model.encoder.activation_checkpoint_interval = kernel, interval
    output = model(*arguments[:3], predicted, *arguments[3:])
    loss = output.mlm_logits.square().sum() + output.sentence_pair_logits[:, 0].square().sum()
    loss.backward()
    return [output.mlm_logits, output.sentence_pair_logits, *(parameter.grad for parameter in model.parameters())]


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("interval", [None, 2])
def test_modern_block_gives_packed_examples_the_outputs_and_gradients_of_single_ones(config, kernel, interval):
    alone = random_batch(config, padded_mask(LENGTHS))
    packed, starts = packed_rows(alone, ROWS)
    everywhere = [batch.attention_mask.flatten().nonzero()[:, 0] for batch in (alone, packed)]
    expected = pretraining(config, "reference", alone.arguments, everywhere[0])
    found = pretraining(config, kernel, (*packed.arguments, starts), everywhere[1], interval=interval)
    for value, other in zip(found, expected, strict=True):
        assert (value - other).norm() <= tolerance(torch.float64, "norm") * max(1, other.norm())


def test_modern_block_has_a_gradient_for_every_parameter(config):
    batch = random_batch(config, padded_mask(LENGTHS))
    positions = batch.attention_mask.flatten().nonzero()[:, 0]
    gradients = pretraining(config, "unpadded", batch.arguments, positions)[2:]
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)


def test_modern_block_in_16_bits_is_near_that_in_32_bits(config):
    batch = random_batch(config, padded_mask(LENGTHS))
    model = perturbed(fresh_encoder(config)).eval()
    expected = model(*batch.arguments).last_hidden_state
    for kernel in get_args(AttentionKernel):
        model.attention_kernel = kernel
        with torch.autocast("cpu", torch.bfloat16):
            states = model(*batch.arguments).last_hidden_state
        assert states.dtype == torch.float32
        difference = (states - expected)[batch.attention_mask].norm()
        assert difference <= tolerance(torch.bfloat16, "norm") * expected[batch.attention_mask].norm()


def test_modern_encoder_at_positions_gives_the_states_of_the_whole_batch(config):
    model = perturbed(fresh_encoder(config))
    batch = random_batch(config, padded_mask(LENGTHS))
    positions = batch.attention_mask.flatten().nonzero()[[0, 3, 3, 9, 14], 0]
    for kernel in get_args(AttentionKernel):
        model.attention_kernel = kernel
        states = model(*batch.arguments).last_hidden_state.flatten(0, 1)[positions]
        assert torch.allclose(model.at_positions(*batch.arguments, positions), states, atol=tolerance())


def test_modern_encoder_hidden_states_are_block_inputs_and_the_last_hidden_state(config):
    model = perturbed(fresh_encoder(config))
    batch = random_batch(config, padded_mask([9]))
    output = model(*batch.arguments, output_hidden_states=True)
    parameters = dict(model.named_parameters())
    assert len(output.hidden_states) == len(model.schedule) + 1
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    for step, (x, after) in enumerate(zip(output.hidden_states, output.hidden_states[1:-1])):
        assert torch.allclose(plain_block(parameters, config, x[0], step), after[0], atol=tolerance(depth="compound"))


def test_modern_attention_probabilities_equal_those_of_a_plain_implementation(config):
    model = perturbed(fresh_encoder(config))
    batch = random_batch(config, padded_mask([9, 5]))
    output = model(*batch.arguments, output_hidden_states=True)
    parameters = dict(model.named_parameters())
    probabilities = model.attention_probabilities(output, batch.attention_mask)
    assert len(probabilities) == len(model.schedule)
    for step, (x, found) in enumerate(zip(output.hidden_states, probabilities)):
        for row, length in enumerate([9, 5]):
            _, expected = plain_block_and_probabilities(parameters, config, x[row, :length], step)
            assert torch.allclose(found[row, :, :length, :length], expected, atol=tolerance())
        assert not found[1, :, :, 5:].any()


def test_recursion_lora_begins_as_the_shared_block(tiny_config, batch):
    plain, updated = fresh_encoder(tiny_config), fresh_encoder(tiny_config.replace(recursion_lora_rank=2))
    expected = plain(*batch.arguments).last_hidden_state
    assert torch.allclose(updated(*batch.arguments).last_hidden_state, expected, atol=tolerance(depth="operation"))


def test_rotary_attention_depends_on_relative_positions_only(tiny_config):
    config = tiny_config.replace(position_embedding="rotary")
    model = perturbed(fresh_encoder(config))
    batch = random_batch(config, padded_mask([12]))
    masked = batch.attention_mask.clone()
    masked[:, :4] = False
    late = model(batch.input_ids, masked, batch.token_type_ids).last_hidden_state[:, 4:]
    early = model(*(tensor[:, 4:] for tensor in batch.arguments)).last_hidden_state
    assert torch.allclose(late, early, atol=tolerance())


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_modern_block_can_be_compiled(unchecked, tiny_config, kernel):
    config = tiny_config.replace(**MODERN)
    assert unchecked(packed_difference, config, kernel, LENGTHS, ROWS) < tolerance()


def test_modern_block_compile_time_does_not_grow_with_depth(unchecked, tiny_config):
    config = tiny_config.replace(**MODERN)
    shallow = unchecked(graphs, config.replace(num_hidden_layers=2), "sdpa")
    assert 0 < unchecked(graphs, config.replace(num_hidden_layers=6), "sdpa") == shallow <= 8


@pytest.mark.parametrize("name", ["ForPretraining", "ForSequenceClassification", "ForQuestionAnsweringWithNoAnswer"])
def test_modern_block_exports_with_dynamic_batch_and_length(unchecked, tiny_config, name):
    assert unchecked(exported_difference, name, tiny_config.replace(**MODERN, num_hidden_layers=2)) < tolerance()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"position_embedding": "rotary", "num_attention_heads": 32}, "heads have width 1"),
        ({"recursion_lora_rank": 1, "sharing": "none"}, "needs blocks that several layers share"),
        ({"recursion_lora_rank": 1, "num_hidden_groups": 4}, "needs blocks that several layers share"),
        ({"position_embedding": "relative"}, "position_embedding"),
    ],
)
def test_modern_block_refuses_combinations_that_do_not_exist(tiny_config, changes, reason):
    with pytest.raises(ConfigError, match=reason):
        tiny_config.replace(**changes)
