"""The fine-tuning of a quickstart, from pretrained and from random weights: one after the other, or both at once.

As a module (`python -m`) it is the process of one of the two.
"""

import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.commands.quickstart.quickstart_settings import QuickstartRun
from litebert.commands.quickstart.quickstart_text import TextFiles
from litebert.commands.run_directory import RunDirectory
from litebert.commands.worker_processes import StopWithParent, Worker, run_workers
from litebert.errors import LitebertError
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.progress_display import LogDisplay

logger = logging.getLogger(__name__)

STEPS_PER_MINUTE: Final = 70
"""Of the whole quickstart."""


class FineTuned(NamedTuple):
    """The two results."""

    pretrained: FinetuneResult
    random: FinetuneResult


def finetune_both(
    run: QuickstartRun, text: TextFiles, model: Path, out: Path, *, processes: int, callbacks: Sequence[Callback]
) -> FineTuned:
    """Fine-tune from the weights of `model`, and from random weights; more than one process: both at once.

    `callbacks` are those of runs in this process.

    Raises:
        LitebertError: if the process of a run fails; its log is in the message.
        StoppedBySignalError: after a signal; the runs continue with the same arguments.
    """
    from_pretrained, from_random = (_settings(run, text, model, from_scratch=each) for each in (False, True))
    runs = {out / "finetune": from_pretrained, out / "from-scratch": from_random}
    at_once = processes > 1
    order = "at the same time" if at_once else "one after the other"
    logger.info("5/6 fine-tuning from pretrained weights and from random weights, %s", order)
    if at_once:
        _run_at_once({path: each for path, each in runs.items() if not RunDirectory(path).result_file.exists()})
    return FineTuned(*(finetune(each, path, callbacks=callbacks) for path, each in runs.items()))


def _settings(run: QuickstartRun, text: TextFiles, model: Path, *, from_scratch: bool) -> FinetuneRun:
    """The two runs differ in the initial weights only, and the second needs no baselines."""
    data = {"train": str(text.labelled_train), "dev": str(text.labelled_dev)}
    steps = f"train.duration={max(1, round(STEPS_PER_MINUTE * run.minutes))} steps"
    given = {"model": str(model), "from_scratch": from_scratch, "data": data, "baseline": not from_scratch}
    return load_finetune_config("quickstart", [steps, f"seed={run.seed}"], given=given)


def _run_at_once(runs: Mapping[Path, FinetuneRun]) -> None:
    def log(out: Path) -> Path:
        return out.with_name(f"{out.name}.log")

    def worker(out: Path) -> Worker:
        argument = json.dumps({"settings": runs[out].to_dict(), "out": str(out)})
        return Worker(out.name, "litebert.commands.quickstart.quickstart_finetuning", argument, log(out))

    def ended(out: Path, code: int) -> bool:
        return code == 0

    stopped = "stopped; the same command resumes"
    if failed := run_workers(runs, worker, ended, jobs=len(runs), stopped=stopped):
        names = ", ".join(str(log(out)) for out in failed)
        raise LitebertError(f"fine-tuning failed, see {names}; --processes 1 does without processes")


def main() -> int:
    """Fine-tune with the settings in the first argument, as JSON."""
    arguments: dict[str, Any] = json.loads(sys.argv[1])
    log_to_stderr(os.environ.get("LITEBERT_LOG", "info"))
    run = FinetuneRun.parse(arguments["settings"], where="quickstart")
    try:
        finetune(run, Path(arguments["out"]), callbacks=[LogDisplay(), StopWithParent()])
    except LitebertError as error:
        logger.error("%s", error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
