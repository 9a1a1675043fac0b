"""Distributed corpus builds with the executors of datatrove; the bytes are those of a build in one process.

There are three stages, which datatrove starts one after the other: one task plans, and writes the text of every shard
to a file; many tasks write the shards; one task publishes the corpus. The stages communicate by files only, so all
machines need the same file system.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from litebert.corpus.build.build_corpus import CorpusBuild, Reading
from litebert.corpus.build.shard_writer import ShardTask, finished_shard, write_shard
from litebert.errors import ConfigError, LitebertError, MissingExtraError
from litebert.files import write_bytes, write_json

logger = logging.getLogger(__name__)

Executor = Literal["local", "slurm", "ray"]
TASKS = "tasks"
PLAN = "plan.json"


def build_with_datatrove(build: CorpusBuild, executor: Executor, *, tasks: int, options: Mapping[str, Any]) -> Path:
    """Start a build whose shards are written by `tasks` tasks, and return the directory of its logs.

    Slurm jobs continue after this returns. `options` are arguments of the datatrove executor, such as partition and
    time for Slurm; ConfigError if it does not accept them. `build.files` must be paths, not documents.
    """
    build.validate(workers=tasks)
    executor_class = _executor_class(executor)
    logs = build.directory.with_suffix(".logs")

    def stage_after(previous: Any, name: str, run: Callable[..., None], size: int) -> Any:
        pipeline, folder = [partial(run, build)], str(logs / name)
        # Finished shards are recognised by their digest; a completion marker of another build would skip a task.
        own = {"pipeline": pipeline, "tasks": size, "logging_dir": folder, "depends": previous, "skip_completed": False}
        return executor_class(**{**options, **own})

    try:
        planned = stage_after(None, "plan", plan_to_files, 1)
        written = stage_after(planned, "write", write_planned, tasks)
        published = stage_after(written, "publish", publish_written, 1)
    except TypeError as error:
        raise ConfigError(f"executor {executor}: {error}; see the documentation of the datatrove executor") from None
    published.run()
    return logs


def plan_to_files(build: CorpusBuild, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
    """Write the text of every shard to its own file, and finally the list of shards with counts and sources."""
    directory = build.directory / TASKS
    (directory / PLAN).unlink(missing_ok=True)
    reading, shards = Reading(), []
    for task in build.plan(reading, workers=1):
        content = json.dumps({"documents": task.documents, "text_bytes": task.text_bytes}, ensure_ascii=False)
        write_bytes(_file(directory, len(shards)), content.encode("utf-8", "surrogatepass"))
        shards.append((task.path, task.source))
    write_json(directory / PLAN, {"shards": shards, "counts": reading.counts, "sources": reading.sources})


def write_planned(build: CorpusBuild, data: Any, rank: int, world_size: int) -> None:
    """Write every `world_size`-th shard of the plan, starting with `rank`."""
    shards = _plan(build)["shards"]
    for number in range(rank, len(shards), world_size):
        path, source = shards[number]
        values = json.loads(_file(build.directory / TASKS, number).read_bytes().decode("utf-8", "surrogatepass"))
        task = ShardTask(build.directory, path, source, **values)
        record = write_shard(task, tokenizer=build.tokenizer, settings=build.settings)
        logger.info("%s: %d documents, %d tokens", path, record.entry.documents, record.entry.tokens)


def publish_written(build: CorpusBuild, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
    """Publish the corpus; all shards must have been written."""
    plan = _plan(build)
    records = [finished_shard(build.directory / path, source) for path, source in plan["shards"]]
    written = [record for record in records if record is not None]
    if len(written) < len(records):
        missing = len(records) - len(written)
        raise LitebertError(f"{build.directory}: {missing} shards are missing; run the same command again")
    build.publish(written, Reading(counts=Counter(plan["counts"]), sources=plan["sources"]), seconds=0)


def _plan(build: CorpusBuild) -> dict[str, Any]:
    path = build.directory / TASKS / PLAN
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LitebertError(
            f"{path}: missing, so the planning stage did not finish; run the same command again"
        ) from None


def _file(directory: Path, number: int) -> Path:
    return directory / f"{number:05d}.json"


def _executor_class(executor: Executor) -> Callable[..., Any]:
    """The executor class of datatrove."""
    names = {"local": "LocalPipelineExecutor", "slurm": "SlurmPipelineExecutor", "ray": "RayPipelineExecutor"}
    try:
        if executor == "ray":
            import_module("ray")  # datatrove would report a missing ray only later
        return getattr(import_module(f"datatrove.executor.{executor}"), names[executor])
    except ImportError as error:
        package = (error.name or "datatrove").partition(".")[0]
        raise MissingExtraError(
            package, extra=executor if executor == "ray" else "datatrove", needed_for=f"executor {executor}"
        ) from None
