import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.model.kernels import cross_entropy
from litebert.model.kernels.cross_entropy import NO_LABEL, at_least_32_bits, summed_cross_entropy
from support.models.tolerances import TOLERANCES

DTYPES = TOLERANCES["operation"]


def with_gradient(function, logits, labels):
    leaf = logits.clone().requires_grad_()
    loss = function(leaf, labels)
    (3 * loss).backward()
    return loss.detach(), leaf.grad


def by_torch(logits, labels):
    return F.cross_entropy(at_least_32_bits(logits), labels, ignore_index=NO_LABEL, reduction="sum")


@settings(deadline=None)
@given(st.sampled_from(list(DTYPES)), st.lists(st.sampled_from([NO_LABEL, 0, 3, 10]), max_size=9), st.integers(1, 100))
def test_cross_entropy_and_its_gradient_equal_torch(dtype, labels, at_once):
    logits = 5 * torch.randn(len(labels), 11, generator=torch.Generator().manual_seed(0), dtype=dtype)
    targets = torch.tensor(labels, dtype=torch.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_entropy, "ELEMENTS_PER_CHUNK", {"cpu": at_once})
        loss, gradient = with_gradient(summed_cross_entropy, logits, targets)
    expected, expected_gradient = with_gradient(by_torch, logits, targets)
    assert torch.allclose(loss, expected, atol=DTYPES[dtype])
    assert torch.allclose(gradient, expected_gradient, atol=DTYPES[dtype], rtol=DTYPES[dtype])
    assert gradient.dtype == dtype


def test_cross_entropy_saves_one_tensor_of_the_size_and_dtype_of_the_logits_instead_of_them():
    logits = torch.randn(8, 1000, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
        summed_cross_entropy(logits, torch.zeros(8, dtype=torch.int64))
    assert all(tensor.data_ptr() != logits.data_ptr() for tensor in saved)
    assert sum(tensor.nbytes for tensor in saved) <= logits.nbytes + 8 * 8


def test_cross_entropy_gradient_in_16_bits_is_scaled_in_32_bits():
    logits = torch.randn(8, 100, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = torch.tensor([0, 1, 2, 3, 4, 5, 6, NO_LABEL])
    (unscaled,) = torch.autograd.grad(summed_cross_entropy(logits, labels), logits)
    (scaled,) = torch.autograd.grad(summed_cross_entropy(logits, labels) / 451, logits)
    assert torch.equal(scaled, (unscaled.float() * torch.tensor(1 / 451)).bfloat16())


def test_cross_entropy_without_gradients_computes_none():
    logits = torch.randn(8, 1000, generator=torch.Generator().manual_seed(0))
    with torch.profiler.profile() as profile:
        summed_cross_entropy(logits, torch.zeros(8, dtype=torch.int64))
    assert "aten::scatter_add_" not in {event.key for event in profile.key_averages()}


def test_cross_entropy_of_huge_logits_does_not_overflow():
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]])
    assert summed_cross_entropy(logits, torch.tensor([0, 0])) == pytest.approx(2e4)
