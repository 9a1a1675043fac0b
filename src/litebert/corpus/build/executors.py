"""A build spread over machines by datatrove's executors, with the bytes of one on this machine. Before: build.

Three stages, each a set of tasks that datatrove starts after the one before: one task plans, which leaves the text of
every shard in a file; many write the shards; one publishes. All machines must see the same directory.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from litebert.corpus.build.build_corpus import CorpusBuild, Reading
from litebert.corpus.build.shard_plan import ShardTask
from litebert.corpus.build.shard_writer import finished_shard, write_shard
from litebert.errors import ConfigError, LitebertError, MissingExtraError
from litebert.files import write_bytes, write_json

log = logging.getLogger(__name__)

Executor = Literal["local", "slurm", "ray"]
TASKS = "tasks"
PLAN = "plan.json"


@dataclass(frozen=True)
class Stage:
    """A step that datatrove calls in each of its tasks."""

    name: str
    build: CorpusBuild
    run: Callable[[CorpusBuild, int, int], None]

    def __repr__(self) -> str:
        return f"litebert corpus build, {self.name}: {self.build.out}"

    def __call__(self, data: Any, rank: int, world_size: int) -> None:
        """Do the share of task `rank`; nothing is handed from step to step but files."""
        self.run(self.build, rank, world_size)


def build_with_datatrove(build: CorpusBuild, executor: Executor, *, tasks: int, options: Mapping[str, Any]) -> Path:
    """Start a build whose shards are written by `tasks` tasks, and give the directory of its logs.

    Slurm's jobs go on after this returns.

    `options` are arguments of datatrove's executor of that name, such as partition and time for Slurm. The files are
    paths, not documents.

    Raises:
        ConfigError: The corpus exists, or the options do not suit the executor.
        MissingExtraError: datatrove (or ray) is not installed.
    """
    build.check(workers=tasks)
    executor_class = _executor_class(executor)
    logs = build.directory.with_suffix(".logs")

    def after(previous: Any, name: str, run: Callable[[CorpusBuild, int, int], None], size: int) -> Any:
        pipeline, folder = [Stage(name, build, run)], str(logs / name)
        # A shard that is there is known by its digest; a marker of another build would make a task do nothing.
        own = {"pipeline": pipeline, "tasks": size, "logging_dir": folder, "depends": previous, "skip_completed": False}
        return executor_class(**{**options, **own})

    try:
        planned = after(None, "plan", plan_to_files, 1)
        written = after(planned, "write", write_planned, tasks)
        published = after(written, "publish", publish_written, 1)
    except TypeError as error:
        raise ConfigError(f"executor {executor}: {error}; see datatrove's documentation of the executor") from None
    published.run()
    return logs


def plan_to_files(build: CorpusBuild, rank: int = 0, world_size: int = 1) -> None:
    """Write the text of every shard to a file of its own, and at last a list of them with what was noted."""
    directory = build.directory / TASKS
    (directory / PLAN).unlink(missing_ok=True)
    reading, shards = Reading(), []
    for task in build.plan(reading, workers=1):
        content = json.dumps({"documents": task.documents, "text_bytes": task.text_bytes}, ensure_ascii=False)
        write_bytes(_file(directory, len(shards)), content.encode("utf-8", "surrogatepass"))
        shards.append((task.path, task.source))
    write_json(directory / PLAN, {"shards": shards, "counts": reading.counts, "sources": reading.sources})


def write_planned(build: CorpusBuild, rank: int, world_size: int) -> None:
    """Write every `world_size`-th shard of the plan, from `rank` on."""
    shards = _plan(build)["shards"]
    for number in range(rank, len(shards), world_size):
        path, source = shards[number]
        values = json.loads(_file(build.directory / TASKS, number).read_bytes().decode("utf-8", "surrogatepass"))
        task = ShardTask(build.directory, path, source, **values)
        record = write_shard(task, tokenizer=build.tokenizer, settings=build.settings)
        log.info("%s: %d documents, %d tokens", path, record.entry.documents, record.entry.tokens)


def publish_written(build: CorpusBuild, rank: int = 0, world_size: int = 1) -> None:
    """Make the corpus of the shards, all of which must have been written."""
    plan = _plan(build)
    records = [finished_shard(build.directory / path, source) for path, source in plan["shards"]]
    written = [record for record in records if record is not None]
    if len(written) < len(records):
        missing = len(records) - len(written)
        raise LitebertError(f"{build.directory}: {missing} shards are not written; run the same command again")
    build.publish(written, Reading(counts=Counter(plan["counts"]), sources=plan["sources"]), seconds=0)


def _plan(build: CorpusBuild) -> dict[str, Any]:
    path = build.directory / TASKS / PLAN
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LitebertError(
            f"{path}: missing, so the text was not read to its end; run the same command again"
        ) from None


def _file(directory: Path, number: int) -> Path:
    return directory / f"{number:05d}.json"


def _executor_class(executor: Executor) -> Callable[..., Any]:
    """The class of datatrove, which imports ray only for its own."""
    names = {"local": "LocalPipelineExecutor", "slurm": "SlurmPipelineExecutor", "ray": "RayPipelineExecutor"}
    try:
        if executor == "ray":
            import_module("ray")  # datatrove itself complains only later
        return getattr(import_module(f"datatrove.executor.{executor}"), names[executor])
    except ImportError as error:
        package = (error.name or "datatrove").partition(".")[0]
        raise MissingExtraError(
            package, extra=executor if executor == "ray" else "datatrove", needed_for=f"executor {executor}"
        ) from None
