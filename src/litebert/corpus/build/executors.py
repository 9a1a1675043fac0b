"""Distributed corpus builds with the executors of datatrove; the bytes are those of a build in one process.

There are three stages, which datatrove starts one after the other: one task plans, and writes the text of every shard
to a file; many tasks write the shards; one task publishes the corpus. The stages communicate by files only, so all
machines need the same file system.
"""

import json
import logging
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from litebert.corpus.build.build_corpus import CorpusBuild, Reading
from litebert.corpus.build.shard_writer import ShardTask, finished_shard, write_shard
from litebert.datatrove_stages import DatatroveExecutor, Stage, run_stages
from litebert.errors import LitebertError
from litebert.files import write_bytes, write_json
from litebert.machine import validate_processes

logger = logging.getLogger(__name__)

TASKS = "tasks"
PLAN = "plan.json"


def build_with_datatrove(
    build: CorpusBuild, executor: DatatroveExecutor, *, tasks: int, options: Mapping[str, Any]
) -> Path:
    """Start a build whose shards are written by `tasks` tasks, and return the directory of its logs.

    Slurm jobs continue after this returns. `options` are arguments of the datatrove executor, such as partition and
    time for Slurm; ConfigError if it does not accept them. `build.files` must be paths, not documents.
    """
    validate_processes(tasks if executor == "local" else min(tasks, 1), where="workers")
    build.validate()
    logs = build.directory.with_suffix(".logs")
    stages = [
        Stage("plan", partial(plan_to_files, build), 1),
        Stage("write", partial(write_planned, build), tasks),
        Stage("publish", partial(publish_written, build), 1),
    ]
    run_stages(stages, executor, logs=logs, options=options)
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
