"""`corpus build`: text files to a corpus directory, in processes of this machine or with an executor of datatrove."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.corpus.build.build_corpus import CorpusBuild, CorpusReport, build_corpus
from litebert.corpus.build.build_progress import ProgressCallback
from litebert.corpus.build.executors import build_with_datatrove
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.datatrove_stages import Executor, validate_no_options
from litebert.settings import with_overrides
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class SubmittedBuild:
    """A build that was started with an executor of datatrove."""

    directory: Path
    logs: Path
    executor: Executor
    built: bool
    """Whether it is complete; Slurm jobs continue after they are submitted."""

    def to_text(self) -> str:
        """Where corpus and logs are."""
        state = "built" if self.built else f"submitted to {self.executor}; it will be there after the last job"
        return f"{self.directory}: {state}; logs: {self.logs}"


def build(
    files: Sequence[str],
    tokenizer: Path,
    settings: CorpusSettings,
    out: Path,
    *,
    validation: Sequence[str] = (),
    workers: int = 1,
    executor: Executor = "processes",
    executor_options: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> CorpusReport | SubmittedBuild:
    """Build a corpus; `executor_options` are `key=value` arguments of the datatrove executor."""
    if executor == "processes":
        validate_no_options(executor_options)
        return build_corpus(
            files, Tokenizer.load(tokenizer), settings, out, validation=validation, workers=workers, progress=progress
        )
    corpus_build = CorpusBuild(files, Tokenizer.load(tokenizer), settings, out, validation)
    options = with_overrides({}, executor_options)
    logs = build_with_datatrove(corpus_build, executor, tasks=workers, options=options)
    return SubmittedBuild(out, logs, executor, built=out.exists())
