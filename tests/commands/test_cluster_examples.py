"""The cluster examples, as far as one machine can test them: manifests, signals, several workers."""

import importlib.util
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.models.tolerances import tolerance
from support.runs.pretrain_runs import SMALL, losses, plan

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.mark.parametrize("path", sorted(CLUSTER.glob("*.yaml")), ids=lambda path: path.name)
def test_cluster_manifests_start_pretraining_with_time_to_save(path):
    documents = list(yaml.safe_load_all(path.read_text()))
    job = documents[-1]
    spec = job["spec"].get("pytorchReplicaSpecs", {"Worker": job["spec"]})["Worker"]["template"]["spec"]
    words = [*spec["containers"][0]["command"], *spec["containers"][0].get("args", [])]
    assert words[0] == "torchrun"
    assert words[words.index("litebert") + 1] == "pretrain"
    assert spec["terminationGracePeriodSeconds"] >= 60
    assert {"name": "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "value": "1"} in spec["containers"][0]["env"]


FAKE_COMMANDS = {
    # Slurm starts the task and, where the test says so, sends it the signal that the time is up.
    "srun": '"$@" & task=$!\nif [ -n "$TIME_IS_UP" ]; then sleep 0.7; kill -USR1 $task; fi\nwait $task',
    "scontrol": 'if [ "$1" = requeue ]; then touch "$HERE/requeued"; else echo node-1; fi',
    # One worker, which saves when it is told to leave; or fails, or finishes.
    "torchrun": 'echo "$@" > "$HERE/words"\nbash -c "$WORKER" & wait $!',
}
SAVES = 'trap "touch $HERE/run/checkpoints/LATEST; exit 138" USR1; while :; do sleep 0.05; done'


@pytest.mark.parametrize(
    ("worker", "time_is_up", "code", "requeued"),
    [
        (SAVES, "yes", 138, True),
        ("exit 2", "", 2, False),
        ("touch $HERE/run/result.json", "", 0, False),
        ("touch $HERE/run/checkpoints/LATEST; exit 1", "", 1, True),
    ],
    ids=["time is up", "wrong setting", "finished", "node lost after a save"],
)
def test_slurm_job_is_requeued_only_after_a_saved_checkpoint(tmp_path, worker, time_is_up, code, requeued):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    for name, text in FAKE_COMMANDS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(stat.S_IRWXU)
    slurm = {"SLURM_JOB_NODELIST": "node-[1-2]", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "7"}
    slurm |= {"SLURM_CPUS_PER_TASK": "16", "SLURM_GPUS_ON_NODE": "8"}
    environment = os.environ | slurm | {"HERE": str(tmp_path), "WORKER": worker, "TIME_IS_UP": time_is_up}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    words = ["bash", str(CLUSTER / "pretrain.sbatch"), "corpus", str(tmp_path / "run"), "paper-base", "seed=1"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "requeued").exists() is requeued
    started = (tmp_path / "words").read_text()
    assert "--nnodes 2 --nproc-per-node 8" in started
    assert "--rdzv-endpoint node-1:29400" in started
    assert f"litebert pretrain paper-base seed=1 --corpus corpus --out {tmp_path / 'run'}" in started


RAY_WORKER = """
import sys, types, os, runpy
import torch.distributed as dist
rank, script, corpus, out, overrides = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
context = types.SimpleNamespace(
    get_world_rank=lambda: rank, get_local_rank=lambda: rank, get_world_size=lambda: 2)
reports = []
train = types.SimpleNamespace(get_context=lambda: context, report=reports.append)
sys.modules["ray"] = types.SimpleNamespace(train=train)
sys.modules["ray.train"] = train
dist.init_process_group("gloo", rank=rank, world_size=2)  # as Ray does before it calls the function
work = runpy.run_path(script)["work"]
work({"recipe": "quickstart", "overrides": overrides, "corpus": corpus, "out": out})
assert reports and reports[0]["mlm_accuracy"] >= 0, reports
"""


@pytest.mark.usefixtures("forked_python")
def test_ray_workers_train_like_one_process(corpus_directory, tmp_path):
    """Two processes as Ray starts them see the same losses as one process that sees the whole batch."""
    from litebert.commands.pretrain.pretrain import pretrain

    short = ["train.duration=3 steps", "train.precision=fp32", "model.hidden_dropout_prob=0", "max_eval_examples=64"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    script = str(CLUSTER / "ray_train.py")
    words = [script, str(corpus_directory), str(tmp_path / "two"), *SMALL, *short]
    workers = [
        subprocess.Popen([sys.executable, "-c", RAY_WORKER, str(rank), *words], env=environment) for rank in range(2)
    ]
    assert [worker.wait(timeout=240) for worker in workers] == [0, 0]
    pretrain(plan(corpus_directory, *short), tmp_path / "one")
    together, alone = losses(tmp_path / "two"), losses(tmp_path / "one")
    assert [row["step"] for row in together] == [row["step"] for row in alone]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, rel=tolerance(depth="compound"))


def test_ray_command_line_takes_settings_anywhere():
    specification = importlib.util.spec_from_file_location("ray_train", CLUSTER / "ray_train.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    given = module.arguments(["c", "r", "seed=1", "--workers", "4", "batch_size=8"])
    assert (given.workers, given.overrides, given.recipe) == (4, ["seed=1", "batch_size=8"], "paper-base")
