"""The result of a finished pretraining run, and the files it exports."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from litebert.analysis.curve_page import write_curve_page
from litebert.commands.model_card import model_card
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.validation_scores import ValidationScores
from litebert.commands.result import Result
from litebert.commands.run_directory import RunDirectory
from litebert.model.io.model_directory import save_model
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class PretrainResult(Result):
    """The result of a finished run; also the content of its `result.json`."""

    model: Path
    steps: int
    tokens: int
    elapsed_seconds: float
    """Of training, including evaluations and waiting for checkpoints."""
    start: ValidationScores | None
    """Before the first step; None without evaluation, as `end`."""
    end: ValidationScores | None
    """Of the exported model."""

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second, without padding, over the whole run."""
        return self.tokens / self.elapsed_seconds if self.elapsed_seconds else 0.0

    def to_text(self) -> str:
        """The result for a person."""
        lines = [
            f"{self.steps:,} steps, {self.tokens:,} tokens in {self.elapsed_seconds / 60:.1f} minutes "
            f"({self.tokens_per_second:,.0f} tokens/s)"
        ]
        for name, scores in (("start", self.start), ("end", self.end)):
            lines += [f"validation at the {name}: {scores.to_text()}"] if scores else []
        return "\n".join([*lines, f"model: {self.model}"])


def export(
    result: PretrainResult,
    run: PretrainRun,
    *,
    exported: nn.Module,
    last: nn.Module,
    tokenizer: Tokenizer,
    directory: RunDirectory,
) -> None:
    """Write the model directories, the curves, and last `result.json`, which marks the run as finished.

    `model/` holds `exported`; where that is the best model, `last/` holds the last one.
    """
    files = {**tokenizer.files(), "README.md": _card(result, run, exported).encode()}
    save_model(exported, directory.model, extra_files=files)
    if run.metric_for_best_model:
        save_model(last, directory.last, extra_files=tokenizer.files())
    write_curve_page([directory.path], directory.curves)
    directory.finish(result)
    shutil.rmtree(directory.best, ignore_errors=True)


def _card(result: PretrainResult, run: PretrainRun, model: nn.Module) -> str:
    scores = {"steps": result.steps, "tokens": result.tokens}
    if result.end:
        scores |= {
            "MLM accuracy (validation)": result.end.mlm_accuracy,
            "majority-token baseline": result.end.majority_token_accuracy,
            "MLM perplexity": result.end.perplexity,
        }
        scores |= {f"{name.upper()} accuracy": pairs.accuracy for name, pairs in result.end.sentence_pairs.items()}
    architecture = {
        "layers": run.model.num_hidden_layers,
        "hidden size": run.model.hidden_size,
        "sharing": run.model.sharing,
    }
    origin = {"init_checkpoint": run.init_checkpoint} if run.init_checkpoint else {}
    selected = {"metric_for_best_model": run.metric_for_best_model} if run.metric_for_best_model else {}
    length = {"duration": str(run.train.duration), "batch size": run.batch_size, "seed": run.seed}
    return model_card(
        model,
        title="An ALBERT encoder",
        task="fill-mask",
        summary="Pretrained with masked language modelling and sentence-order prediction.",
        use='from litebert import Predictor\n\nPredictor.load(".").fill_mask("A sentence with a [MASK] in it.")',
        scores=scores,
        settings={**architecture, **origin, **selected, **length},
    )
