"""On a GPU in bf16: outputs and gradients of every kernel equal those of the reference kernel in fp32."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from litebert.model.kernels import cross_entropy
from litebert.model.kernels.cross_entropy import NO_LABEL, vocabulary_loss
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import ForPretraining
from support.models.model_builders import MODERN, padded_mask, random_batch
from support.models.tolerances import tolerance

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
DEVICE = "cuda"


def states_and_gradient(config, kernel: AttentionKernel, *, bf16: bool):
    """Hidden states of the real tokens, and the gradient of all parameters as one vector, relative to its norm."""
    model = ForPretraining(config, seed=0).to(DEVICE)
    model.encoder.attention_kernel = kernel
    batch = random_batch(config, padded_mask([24, 9, 1, 17]))
    ids, mask, types = (tensor.to(DEVICE) for tensor in batch.arguments)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=bf16):
        states = model.encoder(ids, mask, types).last_hidden_state[mask]
    # not the plain sum of squares: the last norm makes that a constant
    (states.float() * torch.linspace(-1, 1, states.shape[-1], device=DEVICE)).square().sum().backward()
    gradients = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
    return states.detach().float(), torch.cat(gradients)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
@pytest.mark.parametrize("head_size", [8, 64])
@pytest.mark.parametrize("block", [{}, MODERN], ids=["albert", "modern"])
def test_attention_kernels_give_the_reference_on_a_gpu(tiny_config, kernel, head_size, block):
    sizes = {"hidden_size": 4 * head_size, "intermediate_size": 8 * head_size, "initializer_range": 0.05}
    config = tiny_config.replace(**sizes, **block)
    expected, gradient = states_and_gradient(config, "reference", bf16=False)
    for bf16, dtype in ((False, torch.float32), (True, torch.bfloat16)):
        states, own = states_and_gradient(config, kernel, bf16=bf16)
        assert (states - expected).norm() <= tolerance(dtype) * expected.norm()
        assert (own - gradient).norm() <= tolerance(dtype, "compound") * gradient.norm()


@pytest.mark.parametrize("elements", [22, 2**25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_vocabulary_loss_on_a_gpu_equals_torch(elements, dtype, monkeypatch):
    monkeypatch.setattr(cross_entropy, "_ELEMENTS_PER_CHUNK", {"gpu": elements})
    states, weight, bias = (torch.randn(*shape, device=DEVICE) for shape in ((4, 6), (11, 6), (11,)))
    inputs = [states.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_(), bias.requires_grad_()]
    labels = torch.tensor([3, NO_LABEL, 10, 0], device=DEVICE)
    logits = (inputs[0] @ inputs[1].mT).float() + bias
    expected = F.cross_entropy(logits, labels, ignore_index=NO_LABEL, reduction="sum")
    loss, correct = vocabulary_loss(*inputs, labels)
    assert torch.allclose(loss, expected, atol=tolerance(dtype))
    assert torch.equal(correct, logits.argmax(-1) == labels)
    for own, their in zip(torch.autograd.grad(loss, inputs), torch.autograd.grad(expected, inputs), strict=True):
        assert (own - their).norm() <= tolerance(dtype, "norm") * their.norm()
