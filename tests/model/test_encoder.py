from typing import get_args

import pytest
import torch

from litebert.errors import DataError
from litebert.model.config import ModelConfig, Sharing
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import ForPretraining, ForSequenceClassification
from litebert.model.sharing_schedule import stored_blocks
from support.models.model_builders import fresh_encoder, padded_mask, random_batch
from support.models.tolerances import tolerance, within

MASKS = {
    "no padding": torch.ones(3, 7, dtype=torch.bool),
    "padding": padded_mask([9, 5, 1]),
    "an empty sequence": padded_mask([6, 0, 3]),
    "nothing at all": padded_mask([0, 0], 4),
    "one token": padded_mask([1]),
    "the longest": padded_mask([24, 13]),
    "holes": torch.tensor([[True, False, True, True], [False, True, False, True]]),
}
PRECISIONS = (torch.float64, torch.float32, torch.bfloat16)


def run(config: ModelConfig, kernel: AttentionKernel, mask: torch.Tensor, dtype: torch.dtype):
    """Outputs at the real tokens, and the gradients of a loss over them."""
    model = ForPretraining(config).to(torch.float64 if dtype == torch.float64 else torch.float32)
    model.encoder.attention_kernel = kernel
    batch = random_batch(config, mask)
    positions = mask.flatten().nonzero()[:, 0]
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        states = model.encoder(*batch.arguments).last_hidden_state
        output = model(*batch.arguments, positions)
        loss = output.mlm_logits.square().mean() if len(positions) else output.mlm_logits.sum()
    loss.backward()
    blocks = model.encoder.attentions.parameters()
    return states, output.sentence_pair_logits, torch.cat([parameter.grad.flatten().double() for parameter in blocks])


@pytest.mark.parametrize("dtype", PRECISIONS, ids=str)
@pytest.mark.parametrize("kernel", ["sdpa", "unpadded"])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_encoder_has_equal_outputs_and_gradients_with_every_kernel(tiny_config, mask, kernel, dtype):
    expected_states, _, expected_gradient = run(tiny_config, "reference", mask, dtype)
    states, sentence_pair_logits, gradient = run(tiny_config, kernel, mask, dtype)
    assert torch.allclose(states[mask], expected_states[mask], **within(dtype))
    assert (gradient - expected_gradient).norm() <= tolerance(dtype, "compound") * expected_gradient.norm()
    assert states.isfinite().all()
    assert sentence_pair_logits.isfinite().all()


def test_encoder_has_equal_outputs_with_every_kernel_at_512_tokens(tiny_config):
    config = tiny_config.replace(max_position_embeddings=512)
    mask = padded_mask([512, 100])
    expected = run(config, "reference", mask, torch.float32)[0]
    for kernel in ("sdpa", "unpadded"):
        states = run(config, kernel, mask, torch.float32)[0]
        assert torch.allclose(states[mask], expected[mask], atol=tolerance())


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_encoder_outputs_do_not_depend_on_padding(tiny_config, kernel):
    model = fresh_encoder(tiny_config)
    model.attention_kernel = kernel
    batch = random_batch(tiny_config, padded_mask([7, 3], 12))
    short = model(*(tensor[:, :7] for tensor in batch.arguments)).last_hidden_state
    padded = model(*batch.arguments).last_hidden_state[:, :7]
    real = batch.attention_mask[:, :7]
    assert torch.allclose(short[real], padded[real], atol=tolerance())


@pytest.mark.parametrize("sharing", get_args(Sharing))
@pytest.mark.parametrize("inner", [1, 2])
def test_encoder_with_equal_weights_is_equal_for_every_sharing(tiny_config, batch, sharing, inner):
    shared = fresh_encoder(tiny_config)
    expected = shared(*batch.arguments).last_hidden_state
    model = fresh_encoder(tiny_config.replace(num_hidden_layers=4 // inner, inner_group_num=inner, sharing=sharing))
    model.load_state_dict(repeated(shared.state_dict(), model.config))
    assert torch.equal(model(*batch.arguments).last_hidden_state, expected)


def repeated(parameters, config):
    """Parameters of an all-shared encoder, once for each block that another one stores."""
    result = {}
    for name, tensor in parameters.items():
        for kind, count in zip(("attentions", "feed_forwards"), stored_blocks(config), strict=True):
            if name.startswith(f"{kind}.0."):
                result |= {name.replace(".0.", f".{block}.", 1): tensor for block in range(count)}
        if not name.startswith(("attentions", "feed_forwards")):
            result[name] = tensor
    return result


def test_encoder_without_sharing_equals_one_group_per_layer(tiny_config, batch):
    by_sharing = fresh_encoder(tiny_config.replace(sharing="none"))
    by_groups = fresh_encoder(tiny_config.replace(num_hidden_groups=4))
    by_groups.load_state_dict(by_sharing.state_dict())
    assert torch.equal(*(model(*batch.arguments).last_hidden_state for model in (by_sharing, by_groups)))


def test_hidden_states_are_inputs_and_outputs_of_the_blocks(tiny_config, batch):
    model = fresh_encoder(tiny_config)
    model.attention_kernel = "sdpa"  # whose products have the rows of the batch
    output = model(*batch.arguments, output_hidden_states=True)
    assert len(output.hidden_states) == tiny_config.num_hidden_layers + 1
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    assert torch.equal(model.projection(output.embedding_output), output.hidden_states[0])


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("interval", [None, 3])
def test_at_positions_equals_forward(tiny_config, batch, kernel, interval):
    model = fresh_encoder(tiny_config)
    model.attention_kernel, model.activation_checkpoint_interval = kernel, interval
    at = batch.attention_mask.flatten().nonzero()[[0, 3, 3, 9, 14], 0]  # one of them twice
    gradients = []
    for states in (
        model(*batch.arguments).last_hidden_state.flatten(0, 1)[at],
        model.at_positions(*batch.arguments, at),
    ):
        model.zero_grad()
        (states * torch.linspace(-1, 1, states.shape[-1])).square().sum().backward()
        blocks = [*model.attentions.parameters(), *model.feed_forwards.parameters(), *model.projection.parameters()]
        gradients.append(torch.cat([states.detach().flatten(), *(parameter.grad.flatten() for parameter in blocks)]))
    assert (gradients[0] - gradients[1]).norm() <= tolerance(depth="norm") * gradients[0].norm()


def test_hidden_states_are_returned_on_request_only(tiny_config, batch):
    output = fresh_encoder(tiny_config)(*batch.arguments)
    assert output.hidden_states == ()
    assert output.embedding_output is None


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_attention_probabilities_are_those_of_the_forward_pass(tiny_config, batch, kernel):
    model = fresh_encoder(tiny_config)
    model.attention_kernel = kernel
    output = model(*batch.arguments, output_hidden_states=True)
    probabilities = model.attention_probabilities(output, batch.attention_mask)
    block, x = model.attentions[0], output.hidden_states[-2]
    value = block.value(x).unflatten(-1, block.heads)
    context = torch.einsum("baqk,bkad->bqad", probabilities[-1], value).flatten(2)
    expected = model.feed_forwards[0](block.norm(x + block.output(context)))
    real = batch.attention_mask
    assert len(probabilities) == tiny_config.num_hidden_layers
    assert torch.allclose(output.last_hidden_state[real], expected[real], atol=tolerance())


@pytest.mark.parametrize("sixteen_bits", [False, True])
@pytest.mark.parametrize("every", [1, 2, 3, 9])
def test_activation_checkpointing_changes_neither_outputs_nor_gradients(tiny_config, batch, every, sixteen_bits):
    dropout = 0.0 if sixteen_bits else 0.1  # with it attention is computed in another way

    def gradients(interval):
        model = fresh_encoder(tiny_config.replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=dropout))
        model.activation_checkpoint_interval = interval
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16, enabled=sixteen_bits):
            output = model(*batch.arguments, output_hidden_states=True)
        (output.pooled.sum() + sum(state.square().sum() for state in output.hidden_states)).backward()
        return [output.pooled, *(parameter.grad for parameter in model.parameters())]

    for ours, expected in zip(gradients(every), gradients(None), strict=True):
        assert torch.equal(ours, expected)


def test_activation_checkpointing_saves_fewer_activations(tiny_config, batch):
    def kept(every):
        model = fresh_encoder(tiny_config)
        model.activation_checkpoint_interval = every
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            model(*batch.arguments)
        return sum(sizes)

    assert kept(2) < kept(None) / 3


def test_encoder_residual_stream_stays_in_32_bits_under_autocast(tiny_config, batch):
    model = fresh_encoder(tiny_config)
    with torch.autocast("cpu", torch.bfloat16):
        output = model(*batch.arguments, output_hidden_states=True)
    assert {state.dtype for state in output.hidden_states} == {torch.float32}


def test_encoder_refuses_sequences_longer_than_its_positions(tiny_config):
    batch = random_batch(tiny_config, padded_mask([25]))
    with pytest.raises(DataError, match="25 tokens in a sequence, the model has 24 positions"):
        fresh_encoder(tiny_config)(*batch.arguments)


def test_encoder_without_pooler_pools_the_first_state(tiny_config, batch):
    output = fresh_encoder(tiny_config, pooler=False)(*batch.arguments)
    assert torch.equal(output.pooled, output.last_hidden_state[:, 0])


CHANGES = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 40,
    "embedding_size": 8,
    "sharing": "none",
    "num_hidden_groups": 2,
    "inner_group_num": 2,
    "hidden_act": "relu",
    "hidden_dropout_prob": 0.5,
    "attention_probs_dropout_prob": 0.5,
    "classifier_dropout_prob": 0.5,
    "classifier_pooling": "mean",
    "vocab_size": 61,
    "max_position_embeddings": 25,
    "type_vocab_size": 3,
    "initializer_range": 0.1,
    "layer_norm_eps": 0.5,
    "position_embedding": "rotary",
    "rope_theta": 100.0,
    "norm_first": True,
    "gated_feed_forward": True,
    "use_bias": False,
    "recursion_lora_rank": 2,
    "embedding_projection": "always",
}


@pytest.mark.parametrize("field", ModelConfig.model_fields)
def test_model_config_fields_are_all_used(tiny_config, batch, field):
    def observe(config):
        model = ForSequenceClassification(config, num_labels=2)
        torch.manual_seed(0)
        shapes = [tuple(parameter.shape) for parameter in model.parameters()]
        return shapes, model(*batch.arguments).logits.tolist()

    needed = {"embedding_projection": {"embedding_size": 32}, "rope_theta": {"position_embedding": "rotary"}}
    config = tiny_config.replace(**needed.get(field, {}))
    assert observe(config.replace(**{field: CHANGES[field]})) != observe(config)
