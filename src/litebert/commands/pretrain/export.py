"""What a finished pretraining run leaves. Before: `pretrain` has trained. After: a model directory and its curves."""

import shutil

from torch import nn

from litebert.analysis.curve_page import write_curve_page
from litebert.commands.model_card import model_card
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.run_directory import RunDirectory
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_weights, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.state_tensors import model_tensors


def export(
    result: PretrainResult,
    run: PretrainRun,
    *,
    exported: nn.Module,
    last: nn.Module,
    tokenizer: Tokenizer,
    directory: RunDirectory,
) -> None:
    """Write the model directories and the curves, then the mark that the run is finished.

    `model/` is the exported model; where that is the best one, `last/` holds the last.
    """
    files = {**tokenizer.files(), "README.md": _card(result, run, exported).encode()}
    save_model(exported, directory.model, extra_files=files)
    if run.metric_for_best_model:
        save_model(last, directory.last, extra_files=tokenizer.files())
    write_curve_page([directory.path], directory.curves)
    directory.finish(result)
    shutil.rmtree(directory.best, ignore_errors=True)


def whole_model(model: nn.Module, config: ModelConfig) -> nn.Module:
    """The pretraining model with all its weights on the CPU, however it is distributed; every process must call."""
    description = ModelSpec.parse({"model": "ForPretraining", "config": config.to_dict()}, where="model")
    return load_weights(description, model_tensors(model), where="the trained model")


def _card(result: PretrainResult, run: PretrainRun, model: nn.Module) -> str:
    scores = {"steps": result.steps, "tokens": result.tokens}
    if result.end:
        values = result.end.to_dict()
        scores |= {f"held-out {name}": value for name, value in values.items() if not isinstance(value, dict)}
    chosen = {"layers": run.model.num_hidden_layers, "hidden size": run.model.hidden_size, "sharing": run.model.sharing}
    origin = {"started from": run.init_checkpoint} if run.init_checkpoint else {}
    selected = {"selected by": run.metric_for_best_model} if run.metric_for_best_model else {}
    length = {"duration": str(run.train.duration), "batch size": run.batch_size, "seed": run.seed}
    return model_card(
        model,
        title="An ALBERT encoder",
        task="fill-mask",
        summary="Pretrained with masked language modelling and sentence-order prediction.",
        use='from litebert import Predictor\n\nPredictor.load(".").fill_mask("A sentence with a [MASK] in it.")',
        scores=scores,
        settings={**chosen, **origin, **selected, **length},
    )
