import math

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from litebert.model.config import ModelConfig
from litebert.model.kernels.native.library import native_kernels
from litebert.model.losses import classification_loss
from litebert.model.model_stats import flops_per_token, memory, parameter_counts
from litebert.model.models import ForPretraining, ForQuestionAnsweringWithNoAnswer
from litebert.model.presets import PRESETS, preset
from support.models.model_builders import MODERN, padded_mask, random_batch

BASE, LARGE, XLARGE, XXLARGE = (preset(f"albert-{size}-v2") for size in ("base", "large", "xlarge", "xxlarge"))
WIDE = XXLARGE.replace(hidden_size=6144, num_attention_heads=96, intermediate_size=4 * 6144, num_hidden_layers=3)

PARTS = {
    "base": (BASE, (3_906_048, 99_072, 2_363_904, 4_723_968, 590_592, 128_688, 1_538)),
    "large": (LARGE, (3_906_048, 132_096, 4_200_448, 8_395_776, 1_049_600, 161_456, 2_050)),
    "xlarge": (XLARGE, (3_906_048, 264_192, 16_789_504, 33_568_768, 4_196_352, 292_528, 4_098)),
    "xxlarge": (XXLARGE, (3_906_048, 528_384, 67_133_440, 134_246_400, 16_781_312, 554_672, 8_194)),
    "H = 6144": (WIDE, (3_906_048, 792_576, 151_031_808, 302_032_896, 37_754_880, 816_816, 12_290)),
    "bert-base": (preset("bert-base"), (23_436_288, 0, 12 * 2_363_904, 12 * 4_723_968, 590_592, 622_128, 1_538)),
    "bert-large": (preset("bert-large"), (31_248_384, 0, 24 * 4_200_448, 24 * 8_395_776, 1_049_600, 1_081_648, 2_050)),
}
TOTALS = {
    "base": (BASE, (11_092_992, 11_683_584, 11_813_810)),
    "large": (LARGE, (16_634_368, 17_683_968, 17_847_474)),
    "xlarge": (XLARGE, (54_528_512, 58_724_864, 59_021_490)),
    "xxlarge": (XXLARGE, (205_814_272, 222_595_584, 223_158_450)),
    "H = 6144": (WIDE, (457_763_328, 495_518_208, 496_347_314)),
    "bert-base": (preset("bert-base"), (108_490_752, 109_081_344, 109_705_010)),
    "bert-large": (preset("bert-large"), (333_557_760, 334_607_360, 335_691_058)),
    "not shared, E = 64": ({"sharing": "none", "embedding_size": 64}, (87_057_408, 87_648_000, 87_728_882)),
    "not shared, E = 128": ({"sharing": "none"}, (89_059_584, 89_650_176, 89_780_402)),
    "not shared, E = 256": ({"sharing": "none", "embedding_size": 256}, (93_063_936, 93_654_528, 93_883_442)),
    "not shared, E = 768": ({"sharing": "none", "embedding_size": 768}, (108_490_752, 109_081_344, 109_705_010)),
    "12 groups, E = 768": ({"num_hidden_groups": 12, "embedding_size": 768}, (108_490_752, 109_081_344, 109_705_010)),
    "all shared, E = 64": ({"embedding_size": 64}, (9_090_816, 9_681_408, 9_762_290)),
    "all shared, E = 256": ({"embedding_size": 256}, (15_097_344, 15_687_936, 15_916_850)),
    "all shared, E = 768": ({"embedding_size": 768}, (30_524_160, 31_114_752, 31_738_418)),
    "attention, E = 768": ({"sharing": "attention", "embedding_size": 768}, (82_487_808, 83_078_400, 83_702_066)),
    "feed-forward, E = 768": ({"sharing": "feed_forward", "embedding_size": 768}, (56_527_104, 57_117_696, 57_741_362)),
    "attention, E = 128": ({"sharing": "attention"}, (63_056_640, 63_647_232, 63_777_458)),
    "feed-forward, E = 128": ({"sharing": "feed_forward"}, (37_095_936, 37_686_528, 37_816_754)),
    "2 groups": ({"num_hidden_groups": 2}, (18_180_864, 18_771_456, 18_901_682)),
    "3 groups": ({"num_hidden_groups": 3}, (25_268_736, 25_859_328, 25_989_554)),
    "4 groups": ({"num_hidden_groups": 4}, (32_356_608, 32_947_200, 33_077_426)),
    "6 groups": ({"num_hidden_groups": 6}, (46_532_352, 47_122_944, 47_253_170)),
    "modern-tiny": (preset("modern-tiny"), (4_653_312, 4_719_104, 4_782_770)),
    "modern block": (MODERN, (13_805_312, 14_395_904, 14_526_130)),
    "24 layers": ({"num_hidden_layers": 24}, (11_092_992, 11_683_584, 11_813_810)),
}


def config_of(row: ModelConfig | dict) -> ModelConfig:
    return row if isinstance(row, ModelConfig) else BASE.replace(**row)


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("name", PARTS)
def test_parameter_counts_of_parts_equal_the_paper(name):
    config, expected = PARTS[name]
    counts = parameter_counts(config)
    assert tuple(vars(counts).values()) == (*expected, 0, 0, 0)


@pytest.mark.parametrize("name", TOTALS)
def test_parameter_counts_of_models_equal_the_paper(name):
    row, expected = TOTALS[name]
    counts = parameter_counts(config_of(row))
    assert (counts.encoder, counts.encoder_and_pooler, counts.pretraining) == expected


@pytest.mark.parametrize("name", TOTALS)
def test_parameter_counts_equal_a_real_model(name):
    config = config_of(TOTALS[name][0])
    with torch.device("meta"):
        model = ForPretraining(config)
    counts = parameter_counts(config)
    assert count(model) == counts.pretraining
    assert count(model.mlm) == counts.mlm
    assert count(model.sentence_pair) == counts.sentence_pair
    assert count(model.encoder) == counts.encoder_and_pooler
    assert count(model.encoder.attentions) == counts.attention
    assert count(model.encoder.feed_forwards) == counts.feed_forward


@pytest.mark.parametrize(
    ("config", "expected"), [(BASE, 2_364_674), (LARGE, 4_201_474), (XLARGE, 16_791_554), (XXLARGE, 67_137_538)]
)
def test_question_answering_head_has_the_parameters_of_the_reference(config, expected):
    with torch.device("meta"):
        model = ForQuestionAnsweringWithNoAnswer(config)
    assert count(model) - parameter_counts(config).encoder == expected


WITHOUT_UPDATES = {**MODERN, "recursion_lora_rank": 0}


@pytest.mark.parametrize(
    "changes", [{}, {"embedding_size": 32}, {"sharing": "none"}, {"inner_group_num": 2}, WITHOUT_UPDATES]
)
def test_flops_equal_a_real_forward_and_backward(tiny_config, changes):
    config = tiny_config.replace(**changes)
    batch = random_batch(config, padded_mask([20, 20]))
    model = ForPretraining(config)
    model.encoder.attention_kernel = "reference"  # whose matrix products the counter sees

    def measure(*, backward: bool) -> int:
        with FlopCounterMode(display=False) as counter:
            output = model(*batch.arguments, torch.arange(10))
            if backward:
                (output.mlm_logits.sum() + output.sentence_pair_logits.sum()).backward()
        return counter.get_total_flops()

    expected = flops_per_token(config, length=20, predicted=0.25)
    assert expected.forward * 40 == pytest.approx(measure(backward=False), rel=0.01)
    assert expected.training * 40 == pytest.approx(measure(backward=True), rel=0.02)


def kept_for_backward(config: ModelConfig, *, precision: str, interval: int | None) -> int:
    """Bytes of activations that a real training step keeps."""
    model = ForPretraining(config)
    model.encoder.attention_kernel, model.encoder.activation_checkpoint_interval = "sdpa", interval
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    batch = random_batch(config, padded_mask([24] * 8))
    labels = torch.arange(29) % config.vocab_size
    low = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with native_kernels(enabled=False), hooks, low:  # the estimate is of torch's kernels
        output = model(*batch.arguments, torch.arange(29), masked_labels=labels)
        output.mlm.loss + classification_loss(output.sentence_pair_logits, labels[:8] % 2)
    weights = {tuple(parameter.shape) for parameter in model.parameters() if parameter.ndim == 2}
    weights |= {shape[::-1] for shape in weights}  # autocast keeps copies of the weights too
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values() if tuple(tensor.shape) not in weights)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_activation_memory_equals_a_real_step(tiny_config, precision, activation, dropout):
    config = tiny_config.replace(hidden_act=activation, hidden_dropout_prob=dropout)
    estimate = memory(config, batch_size=8, length=24, predicted=29 / 192, precision=precision)
    real = kept_for_backward(config, precision=precision, interval=None)
    assert estimate.activations == pytest.approx(real, rel=0.05)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("field", MODERN)
def test_activation_memory_of_the_modern_block_is_that_of_a_real_step(tiny_config, precision, field):
    config = tiny_config.replace(**{field: MODERN[field]})
    estimate = memory(config, batch_size=8, length=24, predicted=29 / 192, precision=precision)
    real = kept_for_backward(config, precision=precision, interval=None)
    assert estimate.activations == pytest.approx(real, rel=0.07)


def test_activation_memory_is_smaller_with_checkpointing(tiny_config):
    sizes = {"batch_size": 8, "length": 24, "predicted": 29 / 192}
    config = tiny_config.replace(num_hidden_layers=12)
    everything = memory(config, **sizes).activations
    some = memory(config, **sizes, activation_checkpoint_interval=4).activations
    assert some < everything / 2


def test_optimizer_memory_is_two_moments_per_weight():
    estimate = memory(BASE, batch_size=1, length=1)
    assert estimate.weights == 4 * 11_813_810
    assert estimate.training - estimate.activations == 4 * estimate.weights


@pytest.mark.parametrize("name", PRESETS)
def test_parameter_counts_exist_for_every_preset(name):
    config = preset(name)
    assert math.isfinite(flops_per_token(config, length=512).training)
    assert memory(config, batch_size=1, length=512).training > 4 * parameter_counts(config).pretraining


def test_checkpointing_interval_beyond_the_depth_is_the_depth(tiny_config):
    config = tiny_config.replace(num_hidden_layers=12)
    found = [memory(config, batch_size=8, length=24, activation_checkpoint_interval=each) for each in (12, 24, 100)]
    assert found[0] == found[1] == found[2]
