"""The loss of logits that are never stored equals that of stored ones, for any labels, dtype and size of the chunks."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.model.kernels import cross_entropy
from litebert.model.kernels.cross_entropy import (
    NO_LABEL,
    at_least_32_bits,
    vocabulary_log_probabilities,
    vocabulary_loss,
)
from litebert.model.kernels.native.library import native_kernels
from litebert.model.models import ForPretraining
from support.models.native_kernels import BOTH
from support.models.tolerances import TOLERANCES, tolerance

CLASSES, WIDTH = 11, 6
DTYPES = TOLERANCES["norm"]


@pytest.fixture(autouse=True, scope="module", params=BOTH)
def _kernels(request):
    with native_kernels(enabled=request.param):
        yield


def inputs_of(rows, dtype, *, scale=1.0):
    """States, weight and bias."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((rows, WIDTH), (CLASSES, WIDTH), (CLASSES,))
    states, weight, bias = (scale * torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    wide = torch.promote_types(dtype, torch.float32)
    return [states.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_(), bias.to(wide).requires_grad_()]


def logits_of(states, weight, bias):
    return at_least_32_bits(states @ weight.mT) + bias


def by_torch(states, weight, bias, labels):
    """Loss, and whether argmax is the label."""
    logits = logits_of(states, weight, bias)
    loss = F.cross_entropy(logits, labels, ignore_index=NO_LABEL, reduction="sum")
    return loss, logits.argmax(-1) == labels


@settings(deadline=None)
@given(
    st.sampled_from(list(DTYPES)),
    st.lists(st.sampled_from([NO_LABEL, 0, 3, CLASSES - 1]), max_size=9),
    st.integers(1, 100),
    st.integers(1, 9),
)
def test_loss_and_its_gradients_equal_torch(dtype, labels, elements, rows):
    inputs, targets = inputs_of(len(labels), dtype), torch.tensor(labels, dtype=torch.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_entropy, "_ELEMENTS_PER_CHUNK", {"cpu": elements})
        patch.setattr(cross_entropy, "_ROWS_PER_PRODUCT", rows)
        loss, correct = vocabulary_loss(*inputs, targets)
    expected, expected_correct = by_torch(*inputs, targets)
    assert torch.allclose(loss, expected, atol=DTYPES[dtype], rtol=DTYPES[dtype])
    assert torch.equal(correct, expected_correct)
    gradients = [torch.autograd.grad(3 * value, inputs) for value in (loss, expected)]
    for own, theirs in zip(*gradients, strict=True):
        # A probability near 1 minus 1 has the error of the probability.
        assert (own - theirs).norm() <= DTYPES[dtype] * max(theirs.norm(), 3 * len(labels))
        assert own.dtype == theirs.dtype


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_log_probabilities_equal_torch_and_have_no_gradient(dtype):
    inputs, labels = inputs_of(5, dtype), torch.tensor([0, 3, 3, 10, 7])
    found = vocabulary_log_probabilities(*inputs, labels)
    expected = logits_of(*inputs).log_softmax(-1).gather(1, labels[:, None])[:, 0]
    assert torch.allclose(found, expected, atol=DTYPES[dtype], rtol=DTYPES[dtype])
    assert not found.requires_grad
    assert found.dtype == expected.dtype


def test_first_of_equal_logits_is_the_prediction():
    weight = torch.tensor([[1.0], [2.0], [2.0], [2.0]])
    labels = torch.tensor([0, 1, 2, 3, NO_LABEL])
    found = vocabulary_loss(torch.ones(5, 1), weight, torch.zeros(4), labels)
    assert found.correct.tolist() == [False, True, False, False, False]


def test_only_the_gradient_of_the_logits_is_stored_in_the_dtype_of_the_states():
    states, weight, bias = inputs_of(8, torch.bfloat16)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
        vocabulary_loss(states, weight, bias, torch.zeros(8, dtype=torch.int64))
    assert sum(each.nbytes for each in saved) == 2 * 8 * CLASSES + states.nbytes + weight.nbytes + bias.nbytes


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("label", [CLASSES, -1, -101])
def test_label_outside_the_vocabulary_is_an_error(label, enabled):
    inputs = inputs_of(2, torch.float32)
    message = f"label {label}: expected 0 to {CLASSES - 1}, or -100 for none"
    with native_kernels(enabled=enabled), pytest.raises(IndexError, match=message):
        vocabulary_loss(*inputs, torch.tensor([0, label]))


def test_labels_and_bias_may_have_any_strides():
    states, weight, bias = inputs_of(4, torch.float32)
    labels = torch.tensor([0, 9, 3, 9, 3, 9, 10, 9])
    strided = torch.stack([bias, bias], -1)[:, 0]
    found, expected = labels[::2], labels[::2].clone()
    assert vocabulary_loss(states, weight, strided, found).loss == vocabulary_loss(states, weight, bias, expected).loss


@pytest.mark.parametrize("frozen", range(3))
def test_frozen_input_has_no_gradient_and_does_not_change_the_others(frozen):
    inputs, labels = inputs_of(4, torch.float32), torch.tensor([0, 3, 3, 10])
    everything = torch.autograd.grad(vocabulary_loss(*inputs, labels).loss, inputs)
    inputs[frozen].requires_grad_(False)
    vocabulary_loss(*inputs, labels).loss.backward()
    assert inputs[frozen].grad is None
    for index, each in enumerate(inputs):
        assert index == frozen or torch.equal(each.grad, everything[index])


def test_without_gradients_none_is_computed_although_the_weights_require_them():
    inputs, labels = inputs_of(4, torch.float32), torch.tensor([0, 3, 3, 10])
    with torch.no_grad(), torch.profiler.profile() as profile:
        loss = vocabulary_loss(*inputs, labels).loss
    assert not loss.requires_grad
    assert "aten::scatter_add_" not in {event.key for event in profile.key_averages()}


def test_huge_logits_do_not_overflow():
    inputs = inputs_of(4, torch.float32, scale=1e4)
    expected, _ = by_torch(*inputs, torch.tensor([0, 3, 3, 10]))
    loss = vocabulary_loss(*inputs, torch.tensor([0, 3, 3, 10])).loss
    assert torch.allclose(loss, expected)


def test_gradient_of_the_weight_in_fp16_may_be_a_sum_beyond_its_range():
    rows = 140_000  # half of them is more than 65,504, the largest number of fp16
    states, weight, bias = torch.ones(rows, 1).half(), torch.zeros(2, 1).half().requires_grad_(), torch.zeros(2)
    (vocabulary_loss(states, weight, bias, torch.zeros(rows, dtype=torch.int64)).loss / rows).backward()
    assert weight.grad.flatten().tolist() == pytest.approx([-0.5, 0.5], rel=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_model_has_the_loss_and_gradients_of_its_logits(tiny_config, dtype, causal):
    model = ForPretraining(tiny_config.replace(initializer_range=0.1), seed=0)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(tiny_config.vocab_size, (2, 9), generator=generator)
    positions, labels = torch.tensor([1, 4, 12]), torch.tensor([5, NO_LABEL, 7])
    parameters = {name: each for name, each in model.named_parameters() if name.split(".")[0] != "sentence_pair"}
    parameters = {name: each for name, each in parameters.items() if ".pooler." not in name}
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        output = model(ids, masked_positions=positions, masked_labels=labels, causal=causal)
        logits = model(ids, masked_positions=positions, causal=causal)
    expected = F.cross_entropy(logits.mlm_logits.float(), labels, ignore_index=NO_LABEL, reduction="sum")
    assert torch.allclose(output.mlm.loss, expected, rtol=tolerance(dtype))
    assert torch.equal(output.sentence_pair_logits, logits.sentence_pair_logits)
    gradients = [torch.autograd.grad(value, list(parameters.values())) for value in (output.mlm.loss, expected)]
    norm = torch.cat([each.flatten() for each in gradients[1]]).norm()
    difference = torch.cat([(own - theirs).flatten() for own, theirs in zip(*gradients, strict=True)]).norm()
    assert difference <= tolerance(dtype, "norm") * norm
