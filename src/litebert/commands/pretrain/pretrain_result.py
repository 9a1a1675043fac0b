"""The result of a finished pretraining run, and the files it exports."""

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from litebert.analysis.curve_page import write_curve_page
from litebert.analysis.curves import count_evaluations
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.validation import PAIR_NAMES, ValidationScores
from litebert.commands.result import Result
from litebert.commands.runs.model_card import HubMetadata, hub_name, model_card, name_in_card
from litebert.commands.runs.run_directory import RunDirectory
from litebert.errors import MissingExtraError
from litebert.files import EVALUATION, PRETRAINING_SETTINGS, README, json_bytes
from litebert.model.io.model_directory import load_weights, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.model_stats import parameter_counts
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.run_checkpoints import model_tensors

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PretrainResult(Result):
    """The result of a finished run; also the content of its `result.json`."""

    model: Path
    steps: int
    tokens: int
    elapsed_seconds: float
    """Of training, including evaluations and waiting for checkpoints."""
    step_seconds: float
    """Time spent in steps, without evaluation and checkpoints."""
    start: ValidationScores | None
    """Before the first step; None without evaluation, as `end`."""
    end: ValidationScores | None
    """Of the exported model."""
    corpus: str = ""
    """Fingerprint of the training documents; empty for a run of an earlier version."""
    init_checkpoint: str = ""
    """Fingerprint of the weights that the run started from; empty for new weights, for those of a name on the hub, and
    for a run of an earlier version."""

    @property
    def tokens_per_second(self) -> float:
        """Tokens without padding per second of the steps, without evaluation and checkpoints."""
        return self.tokens / self.step_seconds if self.step_seconds else 0.0

    def to_text(self) -> str:
        """The result for a person."""
        lines = [
            f"{self.steps:,} steps, {self.tokens:,} tokens in {self.elapsed_seconds / 60:.1f} minutes "
            f"({self.tokens_per_second:,.0f} tokens/s)"
        ]
        for name, scores in (("start", self.start), ("end", self.end)):
            lines += [f"validation at the {name}: {scores.to_text()}"] if scores else []
        if self.end and self.end.is_at_baseline:
            hour = f"{self.tokens_per_second * 3600 / 1e6:,.1f} million tokens an hour"
            lines.append(
                f"note: masked tokens are predicted no better than by their frequencies after {self.tokens:,} tokens; "
                f"train longer (train.duration): this machine reads {hour}"
            )
        return "\n".join([*lines, f"model: {self.model}"])


def write_finished_run(
    result: PretrainResult,
    run: PretrainRun,
    *,
    exported: nn.Module,
    best: Path | None,
    last: nn.Module,
    tokenizer: Tokenizer,
    directory: RunDirectory,
) -> None:
    """Write the model directories, the curves, and last `result.json`, which marks the run as finished.

    `model/` holds `exported`; where that is the best model, which was saved in `best`, it has its evaluation, and
    `last/` holds the last one.
    """
    card = _card(result, run, exported, evaluations=count_evaluations(directory.metrics), is_best=best is not None)
    files = model_files(run, tokenizer)
    kept = {EVALUATION: (best / EVALUATION).read_bytes()} if best and (best / EVALUATION).is_file() else {}
    save_model(exported, directory.model, extra_files={**files, **kept, README: card.encode()})
    if run.metric_for_best_model:
        save_model(last, directory.last, extra_files=files)
    try:
        write_curve_page([directory.path], directory.curves)
    except MissingExtraError as error:
        logger.info("%s: not written: %s", directory.curves, error)
    directory.finish(result)
    shutil.rmtree(directory.best, ignore_errors=True)


def model_files(run: PretrainRun, tokenizer: Tokenizer) -> dict[str, bytes]:
    """What a model directory of the run has beside config and weights: tokenizer, and how examples were drawn."""
    drawn = run.model_dump(mode="json", include={"sampling", "eval_pair_objectives"})
    files = tokenizer.files(max_length=run.model.max_position_embeddings)
    return {**files, PRETRAINING_SETTINGS: json_bytes(drawn)}


def provenance(run: PretrainRun) -> dict[str, str]:
    """What the run trains and how, in words: for the model card and `environment.json`."""
    names = {
        "sop": "masked language modelling, sentence-order prediction",
        "nsp": "masked language modelling, next-sentence prediction",
        "none": "masked language modelling",
    }
    chosen = run.metric_for_best_model
    causal = ", next-token prediction" if run.sampling.causal_fraction else ""
    layers = {}
    if first := run.first_part:
        layers["layers at first"] = f"{first.config.num_hidden_layers}, for {first.fraction:.0%} of the run"
    return {
        **layers,
        "objectives": names[run.sampling.pairing] + causal,
        "initialization": run.init if run.init_checkpoint is None else f"weights of {run.init_checkpoint}",
        "exported model": "the last" if chosen is None else f"the best by {chosen} on the validation split",
    }


def _card(result: PretrainResult, run: PretrainRun, model: nn.Module, *, evaluations: int, is_best: bool) -> str:
    words, start = provenance(run), run.init_checkpoint
    if start is not None:
        words["initialization"] = f"weights of {name_in_card(start)}"
    scores: dict[str, Any] = {"steps": result.steps, "tokens": result.tokens}
    if result.end:
        scores |= {
            f"MLM accuracy ({result.end.mlm_count:,} masked tokens of the validation split)": result.end.mlm_accuracy,
            "majority-token baseline": result.end.majority_token_accuracy,
            "MLM perplexity": result.end.perplexity,
        }
        if result.end.clm_accuracy is not None:
            scores["next-token accuracy"] = result.end.clm_accuracy
        scores |= {
            f"{PAIR_NAMES[name]} accuracy ({pairs.count:,} validation examples)": pairs.accuracy
            for name, pairs in result.end.sentence_pairs.items()
        }
    if run.metric_for_best_model and not is_best:  # a run that was shortened to its checkpoint
        words["exported model"] = "the last: no model of the run until then was evaluated"
    elif run.metric_for_best_model:
        words["exported model"] += f", of {evaluations} evaluations: these scores are optimistic"
    return model_card(
        model,
        title="An ALBERT encoder",
        hub=HubMetadata(task="fill-mask", base_model=None if start is None else hub_name(start)),
        summary=f"Pretrained with {' and '.join(words['objectives'].rsplit(', ', 1))}.",
        use='from litebert import Predictor\n\nPredictor.load(".").fill_mask("A sentence with a [MASK] in it.")',
        scores=scores,
        settings={
            "parameters": f"{parameter_counts(run.model).pretraining:,}",
            "layers": run.model.num_hidden_layers,
            "hidden size": run.model.hidden_size,
            "sharing": f"{run.model.sharing}, groups: {run.model.num_hidden_groups}",
            **words,
            "longest example in tokens": run.sampling.max_length,
            "duration": str(run.train.duration),
            "batch size": run.batch_size,
            "seed": run.seed,
        },
        card=run.card,
    )


def full_model(model: nn.Module, run: PretrainRun) -> nn.Module:
    """The pretraining model with all its weights on the CPU, sharded or not; every process must call."""
    spec = ModelSpec(model="ForPretraining", config=run.model, pairing=run.sampling.pairing)
    return load_weights(spec, model_tensors(model), where="the trained model")
