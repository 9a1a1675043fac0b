import os
import stat
import sys
import types

import pytest

from litebert.corpus.build import executors
from litebert.corpus.build.build_corpus import CorpusBuild, build_corpus
from litebert.corpus.build.executors import build_with_datatrove, plan_to_files, publish_written, write_planned
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document
from litebert.errors import ConfigError, LitebertError, MissingExtraError
from support.data.directories import content

SETTINGS = CorpusSettings(sentences="line", validation_fraction=0.2, shard_bytes=2000)


@pytest.fixture
def build(tmp_path, tokenizer, documents):
    """A build of one file, and the same corpus built in one process."""
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join(document.sentences) for document in documents))
    settings = SETTINGS.replace(dedup_minhash_threshold=0.8)
    build_corpus(path, tokenizer, settings, tmp_path / "expected")
    return CorpusBuild((str(path),), tokenizer, settings, tmp_path / "corpus")


@pytest.fixture
def datatrove():
    pytest.importorskip("datatrove", reason="the extra [datatrove] is not installed")


def test_executor_stages_give_the_bytes_of_a_build_in_one_process(build, tmp_path):
    plan_to_files(build)
    for rank in (2, 0, 1):
        write_planned(build, None, rank, 3)
    publish_written(build)
    assert content(tmp_path / "corpus") == content(tmp_path / "expected")
    assert not build.directory.exists()


def test_executor_publishes_only_after_all_shards_are_written(build, tmp_path):
    with pytest.raises(LitebertError, match="the planning stage did not finish"):
        write_planned(build, None, 0, 1)
    plan_to_files(build)
    write_planned(build, None, 0, 2)
    with pytest.raises(LitebertError, match=r"\d+ shards are missing; run the same command again"):
        publish_written(build)
    assert not (tmp_path / "corpus").exists()


def test_executor_writes_nothing_of_an_earlier_plan_after_one_that_failed(build, monkeypatch):
    def damaged(*_, **__):
        raise LitebertError("damaged file")

    plan_to_files(build)
    monkeypatch.setattr(CorpusBuild, "plan", damaged)
    with pytest.raises(LitebertError, match="damaged file"):
        plan_to_files(build)
    with pytest.raises(LitebertError, match="the planning stage did not finish"):
        write_planned(build, None, 0, 1)


def test_executor_plan_files_preserve_lone_surrogates(tmp_path, tokenizer):
    documents = [Document("d", ("Ba \ud800 do.", "Kilu."))]
    settings = SETTINGS.replace(validation_fraction=0)
    build_corpus(documents, tokenizer, settings, tmp_path / "expected")
    build = CorpusBuild(documents, tokenizer, settings, tmp_path / "corpus")
    plan_to_files(build)
    write_planned(build, None, 0, 1)
    publish_written(build)
    assert content(tmp_path / "corpus") == content(tmp_path / "expected")


@pytest.mark.usefixtures("datatrove")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_executor_local_gives_the_bytes_of_a_build_in_one_process(build, tmp_path):
    logs = build_with_datatrove(build, "local", tasks=3, options={"workers": 1})
    assert content(tmp_path / "corpus") == content(tmp_path / "expected")
    assert (logs / "write/completions/00002").is_file()
    with pytest.raises(ConfigError, match="exists already"):
        build_with_datatrove(build, "local", tasks=3, options={})


SBATCH = """#!{python}
import os, subprocess, sys
script = sys.stdin.read() if sys.argv[-1].startswith("-") else open(sys.argv[-1]).read()
last = [line for line in script.splitlines() if "--array=" in line]
tasks = int(last[0].split("-")[-1]) + 1 if last else 1
lines = [line for line in script.splitlines() if "launch_pickled_pipeline" in line]
for task in range(tasks if lines else 0):
    pik = lines[0].split()[-1]
    environment = {{**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_NODELIST": "node1", "RUN_OFFSET": "0"}}
    main = "from datatrove.tools.launch_pickled_pipeline import main; main()"
    command = [sys.executable, "-c", main, pik]
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr)
print("Submitted batch job 7")
"""


@pytest.mark.usefixtures("datatrove")
def test_executor_slurm_gives_the_bytes_of_a_build_in_one_process(build, tmp_path, monkeypatch):
    """A mock of sbatch runs each task of the submitted script; Slurm itself is not tested."""
    (tmp_path / "bin").mkdir()
    for name, text in (("sbatch", SBATCH.format(python=sys.executable)), ("scontrol", "#!/bin/sh\necho node1\n")):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    build_with_datatrove(build, "slurm", tasks=2, options={"partition": "cpu", "time": "1:00:00"})
    assert content(tmp_path / "corpus") == content(tmp_path / "expected")


@pytest.mark.usefixtures("datatrove")
def test_executor_options_of_another_executor_are_refused(build):
    with pytest.raises(ConfigError, match=r"executor slurm: .*partition"):
        build_with_datatrove(build, "slurm", tasks=2, options={})
    with pytest.raises(ConfigError, match=r"executor local: .*colour"):
        build_with_datatrove(build, "local", tasks=2, options={"colour": "red"})


@pytest.mark.parametrize("module", ["datatrove.executor.local", "datatrove.executor.slurm", "ray"])
def test_executor_names_a_missing_package(build, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    package = module.partition(".")[0]
    with pytest.raises(MissingExtraError, match=rf"'{package}'; install it with: pip install 'litebert\[{package}\]'"):
        build_with_datatrove(build, module.rpartition(".")[2], tasks=1, options={})


@pytest.mark.usefixtures("datatrove")
def test_executor_ray_gets_the_three_stages_in_order(build, monkeypatch):
    """A mock of the datatrove executor records its arguments, because ray is too large for the tests."""
    made = []

    class RayPipelineExecutor:
        def __init__(self, **arguments):
            made.append(arguments)

        def run(self):
            made.append("run")

    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    module = types.ModuleType("datatrove.executor.ray")
    module.RayPipelineExecutor = RayPipelineExecutor
    monkeypatch.setitem(sys.modules, "datatrove.executor.ray", module)
    build_with_datatrove(build, "ray", tasks=8, options={"cpus_per_task": 1})
    assert [stage["tasks"] for stage in made[:3]] == [1, 8, 1]
    assert [stage["pipeline"][0].func for stage in made[:3]] == [plan_to_files, write_planned, publish_written]
    assert all(stage["cpus_per_task"] == 1 for stage in made[:3])
    assert made[3] == "run"


def test_tasks_of_a_cluster_are_not_limited_by_the_cores_of_this_machine(build, monkeypatch):
    run = []
    monkeypatch.setattr(executors, "run_stages", lambda stages, *_, **__: run.append(stages[1].tasks))
    build_with_datatrove(build, "slurm", tasks=10**4, options={})
    assert run == [10**4]
    with pytest.raises(ConfigError, match="workers: expected 1 to"):
        build_with_datatrove(build, "local", tasks=10**4, options={})
    with pytest.raises(ConfigError, match=r"workers: expected 1 to .*found 0"):
        build_with_datatrove(build, "slurm", tasks=0, options={})
