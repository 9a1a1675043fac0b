"""The cost of a pretraining run by formula: memory of a step, and operations per token."""

from dataclasses import replace

from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.corpus.sampling.sampling_settings import LinearSchedule, SamplingSettings
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build
from litebert.model.io.model_spec import ModelSpec
from litebert.model.model_stats import Memory, flops_per_token, memory
from litebert.training.optim.optimizers import state_elements


def expected_memory(run: PretrainRun, *, processes: int = 1) -> Memory:
    """Memory of a training step on one of several processes, by formula.

    FSDP divides the state of the optimizer. Weights and gradients are whole during a step, beside its share of the
    weights.
    """
    of_step = memory(
        run.model,
        batch_size=run.microbatch_size,
        length=run.sampling.max_length,
        predicted=1.0 if run.sampling.causal_fraction else LinearSchedule.parse(run.sampling.mlm_probability).largest,
        precision=run.train.precision,
        activation_checkpoint_interval=run.compute.activation_checkpoint_interval,
    )
    optimizer = 4 * optimizer_states(run)
    if not run.train.fsdp:
        return replace(of_step, optimizer=optimizer)
    share = of_step.weights // processes
    return replace(of_step, weights=of_step.weights + share, optimizer=optimizer // processes)


def optimizer_states(run: PretrainRun) -> int:
    """Numbers in the state of the optimizer, over all processes."""
    spec = ModelSpec(model="ForPretraining", config=run.model)
    return state_elements(build(spec, device="meta"), run.train)


def mean_flops_per_token(config: ModelConfig, sampling: SamplingSettings) -> float:
    """Operations of training per token, in the mean of masked and causal steps, which predict every token."""
    causal, masked = sampling.causal_fraction, LinearSchedule.parse(sampling.mlm_probability).end
    return sum(
        share * flops_per_token(config, length=sampling.max_length, predicted=predicted).training
        for predicted, share in ((1.0, causal), (masked, 1 - causal))
    )
