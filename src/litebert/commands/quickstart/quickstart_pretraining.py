"""The pretraining of a quickstart: how long it may take, in one process or in several that divide each batch."""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.quickstart.quickstart_settings import QuickstartRun
from litebert.commands.recipes import load_recipe
from litebert.commands.run_directory import RunDirectory
from litebert.errors import ConfigError, LitebertError, StoppedBySignalError
from litebert.machine import num_cores
from litebert.settings import read_yaml
from litebert.training.callbacks.callback import Callback
from litebert.training.distributed.torchrun import run_processes

logger = logging.getLogger(__name__)

RECIPE: Final = "modern-quickstart"
RESERVED_SHARE: Final = 0.2
"""Share of the time that is left for the stages after pretraining."""
MIN_SHARE: Final = 0.5
"""Share of the time that pretraining has at least."""
SECONDS_TO_START: Final = 8
"""Of several processes, which load torch again."""
SIGNAL_CODE: Final = 128
"""A larger exit code is this and the number of a signal."""


def default_processes() -> int:
    """Two where it was measured that they are faster than two threads, on a CPU with Linux; otherwise one.

    One too if OMP_NUM_THREADS says how many threads to use.
    """
    measured = sys.platform == "linux" and num_cores() > 1 and not torch.cuda.is_available()
    return 2 if measured and not os.environ.get("OMP_NUM_THREADS") else 1


def validate_quickstart_processes(processes: int) -> None:
    """Raise ConfigError for more processes than a batch has examples, or than there are GPUs if there is one."""
    most = _batch_size()
    if gpus := torch.cuda.device_count():
        most = min(most, gpus)
    if not 1 <= processes <= most:
        raise ConfigError(f"processes: {processes}, expected 1 to {most}")


def _batch_size() -> int:
    return load_recipe(RECIPE, command="pretrain").settings["batch_size"]


def pretrain_for_the_rest(
    run: QuickstartRun, corpus: Path, out: Path, *, spent: float, processes: int, callbacks: Sequence[Callback]
) -> PretrainResult:
    """Pretrain for what is left of the time after `spent` seconds; a resumed run keeps its duration.

    `callbacks` are those of a run in one process.
    """
    directory = RunDirectory(out)
    if directory.settings_file.exists():
        duration = read_yaml(directory.settings_file)["train"]["duration"]
    else:
        total, start = 60 * run.minutes, SECONDS_TO_START if processes > 1 else 0
        duration = f"{max(MIN_SHARE * total, (1 - RESERVED_SHARE) * total - spent - start):.0f} seconds"
    settings = [f"train.duration={duration}", f"seed={run.seed}"]
    if processes > 1:
        settings.append(f"microbatch_size={-(-_batch_size() // processes)}")
    config = load_pretrain_config(RECIPE, settings, corpus=corpus)
    by_processes = f", in {processes} processes" if processes > 1 else ""
    logger.info("4/6 pretraining for %s%s", config.train.duration.to_text(), by_processes)
    if processes > 1 and not directory.result_file.exists():
        _run_in_processes(processes, ["pretrain", RECIPE, *settings, "--corpus", str(corpus), "--out", str(out)])
    return pretrain(config, out, callbacks=callbacks)  # of a run that is finished: its result


def _run_in_processes(count: int, command: Sequence[str]) -> None:
    code = run_processes(count, command, hide_result=True)
    if code > SIGNAL_CODE:
        raise StoppedBySignalError("stopped; the same command resumes", signal_number=code - SIGNAL_CODE)
    if code:
        error = LitebertError(f"pretraining in {count} processes failed, see above; --processes 1 does without them")
        error.exit_code = code
        raise error
