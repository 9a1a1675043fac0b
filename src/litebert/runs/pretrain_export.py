"""What a finished pretraining run leaves. Before: `pretrain` has trained. After: a model directory and its curves."""

import shutil

from torch import nn

from litebert.analysis.curve_page import write_curve_page
from litebert.model.directory import save_model
from litebert.runs.directory import RunDirectory
from litebert.runs.model_card import model_card
from litebert.runs.pretrain_result import PretrainResult
from litebert.runs.pretrain_settings import PretrainRun
from litebert.tokenization.tokenizer import Tokenizer


def leave(
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
    if run.select_by:
        save_model(last, directory.last, extra_files=tokenizer.files())
    write_curve_page([directory.path], directory.curves)
    directory.finish(result)
    shutil.rmtree(directory.best, ignore_errors=True)


def _card(result: PretrainResult, run: PretrainRun, model: nn.Module) -> str:
    scores = {"steps": result.steps, "tokens": result.tokens}
    if result.end:
        values = result.end.to_dict()
        scores |= {f"held-out {name}": value for name, value in values.items() if not isinstance(value, dict)}
    chosen = {"layers": run.model.num_hidden_layers, "hidden size": run.model.hidden_size, "sharing": run.model.sharing}
    origin = {"started from": run.start_from} if run.start_from else {}
    selected = {"selected by": run.select_by} if run.select_by else {}
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
