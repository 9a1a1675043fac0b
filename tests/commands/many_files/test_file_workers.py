"""Many files: the same bytes for any number of workers and executors, and after a stop."""

import gzip
import json
import multiprocessing
from pathlib import Path

import pytest
import torch

from litebert import parallel_map
from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.many_files import file_workers
from litebert.commands.many_files.file_arguments import FileWorkers, is_pattern
from litebert.commands.predict import predict as predict_module
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError, DataError
from litebert.inference import pipeline
from litebert.inference.predictor import Predictor
from litebert.model import matmul_speed
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from support.data.directories import content
from support.runs.measured_precision import measure

SIZES = {"a.csv": 5, "b.csv": 1, "deep/c.csv": 9, "deep/d.csv": 3}


@pytest.fixture(scope="module")
def classifier(tiny_tokenizer, small_config, tmp_path_factory):
    return save_model(
        ForSequenceClassification(small_config, num_labels=2),
        tmp_path_factory.mktemp("many") / "model",
        labels=("bad", "good"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )


@pytest.fixture
def pattern(tmp_path):
    """Files in two directories."""
    for name, rows in SIZES.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n" + "".join(f"the {'film ' * (row % 3)}was good in {row}\n" for row in range(rows)))
    return tmp_path / "in" / "**" / "*.csv"


@pytest.fixture
def labelled_pattern(pattern, tmp_path):
    """The files with a column of labels."""
    for path in tmp_path.glob("in/**/*.csv"):
        path.write_text("text,label\n" + "".join(f"{line},good\n" for line in path.read_text().splitlines()[1:]))
    return pattern


def outputs(directory):
    return {name: value for name, value in content(directory).items() if ".done" not in name}


def predict_files(model, pattern, out, **files):
    return predict(PredictRun(model=str(model), input=pattern, output=out, files=FileWorkers(**files)))


@pytest.fixture
def one_worker(classifier, pattern, tmp_path):
    predict_files(classifier, pattern, tmp_path / "one")
    return outputs(tmp_path / "one")


@pytest.fixture
def forked_workers(monkeypatch):
    """Workers that need not import torch again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([predict.__module__])
    monkeypatch.setattr(parallel_map.multiprocessing, "get_context", lambda method: context)


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [2, 3])
def test_predict_of_many_files_gives_the_same_bytes_with_processes(classifier, pattern, tmp_path, one_worker, workers):
    result = predict_files(classifier, pattern, tmp_path / "out", workers=workers)
    assert outputs(tmp_path / "out") == one_worker
    assert sorted(one_worker) == sorted(SIZES)
    assert {name: each["predictions"] for name, each in result.results.items()} == SIZES
    assert result.to_text() == f"{tmp_path / 'out'}: 4 outputs"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_predict_of_many_files_gives_the_same_bytes_with_datatrove(classifier, pattern, tmp_path, one_worker):
    pytest.importorskip("datatrove", reason="the extra [datatrove] is not installed")
    files = {"workers": 3, "executor": "local", "executor_options": ("workers=1",)}
    result = predict_files(classifier, pattern, tmp_path / "out", **files)
    assert outputs(tmp_path / "out") == one_worker
    assert (len(result.results), result.logs.is_dir()) == (4, True)


def test_predict_of_many_files_equals_predict_of_each(classifier, pattern, tmp_path, one_worker):
    for name in SIZES:
        run = PredictRun(model=str(classifier), input=tmp_path / "in" / name, output=tmp_path / "x.csv", threads=1)
        predict(run)
        assert outputs(tmp_path)["x.csv"] == one_worker[name]


def test_predict_of_many_files_names_outputs_by_a_format_that_can_be_written(classifier, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.CSV").write_text("text\nthe film\n")
    (source / "b.csv.gz").write_bytes(gzip.compress(b"text\nthe film\n"))
    parquet.write_table(pyarrow.table({"text": ["the film"]}), source / "c.parquet")
    (source / "d.txt.gz").write_bytes(gzip.compress(b"the film\n"))
    predict_files(classifier, source / "*", tmp_path / "out")
    assert sorted(outputs(tmp_path / "out")) == ["a.csv", "b.csv", "c.jsonl", "d.jsonl"]


def test_embed_of_many_files_writes_the_vectors_of_each(classifier, pattern, tmp_path):
    result = embed(EmbedRun(model=str(classifier), input=pattern, output=tmp_path / "out"))
    assert {name: each["rows"] for name, each in result.results.items()} == {
        name.replace(".csv", ".npy"): rows for name, rows in SIZES.items()
    }
    for name in SIZES:
        embed(EmbedRun(model=str(classifier), input=tmp_path / "in" / name, output=tmp_path / "x.npy", threads=1))
        assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "out" / name).with_suffix(".npy").read_bytes()


def test_many_files_continue_after_an_error_and_repeat_only_what_has_changed(classifier, pattern, tmp_path, caplog):
    broken = tmp_path / "in" / "b.csv"
    good = broken.read_text()
    broken.write_text("wrong\nx\n")
    with pytest.raises(DataError, match=r"b\.csv: no column 'text'"):
        predict_files(classifier, pattern, tmp_path / "out")
    assert not (tmp_path / "out" / "b.csv").exists()
    broken.write_text(good)
    with caplog.at_level("INFO", "litebert.commands.many_files"):
        result = predict_files(classifier, pattern, tmp_path / "out")
    messages = [record.message for record in caplog.records if not record.message.startswith("precision: ")]
    assert sorted(message.split("out/")[1] for message in messages) == [
        "a.csv: is complete",
        "b.csv: written",
        "deep/c.csv: is complete",
        "deep/d.csv: is complete",
    ]
    assert len(result.results) == 4


def test_rows_that_are_added_during_the_work_are_predicted_by_the_next_command(
    classifier, pattern, tmp_path, monkeypatch
):
    source, out, work = tmp_path / "in" / "a.csv", tmp_path / "out", predict_module._predict_file

    def work_while_the_file_grows(run, predictor):
        result = work(run, predictor)
        if run.input == source:
            with source.open("a") as file:
                file.write("music\n")
        return result

    with monkeypatch.context() as patch:
        patch.setattr(predict_module, "_predict_file", work_while_the_file_grows)
        predict_files(classifier, pattern, out)
    assert len((out / "a.csv").read_text().splitlines()) == 1 + SIZES["a.csv"]
    predict_files(classifier, pattern, out)
    assert len((out / "a.csv").read_text().splitlines()) == 2 + SIZES["a.csv"]


def run_files(command, model, pattern, out, **settings):
    """What a command on many files says."""
    if command == "predict":
        return predict(PredictRun(model=str(model), input=pattern, output=out, **settings)).to_text()
    if command == "embed":
        return embed(EmbedRun(model=str(model), input=pattern, output=out, **settings)).to_text()
    return evaluate(EvaluateRun(model=str(model), data=pattern, output=out, **settings)).to_text()


@pytest.mark.parametrize("command", ["predict", "embed", "evaluate"])
def test_many_files_measure_the_precision_without_loading_the_model(
    classifier, labelled_pattern, tmp_path, monkeypatch, command
):
    load, threads, loaded = pipeline.load_model, [], []
    monkeypatch.setattr(pipeline, "load_model", lambda directory: loaded.append(directory) or load(directory))
    monkeypatch.setattr(
        matmul_speed, "fastest_precision", lambda config, device, use: threads.append(torch.get_num_threads()) or "fp32"
    )
    run_files(command, classifier, labelled_pattern, tmp_path / "out", precision="auto", threads=3)
    assert loaded == [classifier]
    assert threads == [3]


@pytest.mark.parametrize("command", ["predict", "embed", "evaluate"])
def test_many_files_keep_the_precision_that_was_measured_first(
    classifier, labelled_pattern, tmp_path, monkeypatch, caplog, command
):
    measure("fp32", monkeypatch)
    run_files(command, classifier, labelled_pattern, tmp_path / "out", precision="auto")
    before = outputs(tmp_path / "out")
    lost = next(path for path in (tmp_path / "out").iterdir() if path.name.startswith("a.") and path.is_file())
    lost.unlink()
    measure("bf16", monkeypatch)
    with caplog.at_level("INFO", "litebert.commands.many_files"):
        run_files(command, classifier, labelled_pattern, tmp_path / "out", precision="auto")
    assert sum("is complete" in record.message for record in caplog.records) == 3
    assert outputs(tmp_path / "out") == before
    run_files(command, classifier, labelled_pattern, tmp_path / "out", precision="bf16")
    assert outputs(tmp_path / "out") != before


def test_many_files_measure_again_with_other_settings_or_a_damaged_record(classifier, pattern, tmp_path, monkeypatch):
    kept = tmp_path / "out" / ".done" / ".precision.json"
    measure("fp32", monkeypatch)
    predict_files(classifier, pattern, tmp_path / "out")
    measure("bf16", monkeypatch)
    run_files("predict", classifier, pattern, tmp_path / "out", threads=2)
    assert json.loads(kept.read_text())["precision"] == "bf16"
    kept.write_text("{")
    measure("fp32", monkeypatch)
    run_files("predict", classifier, pattern, tmp_path / "out", threads=2)
    assert json.loads(kept.read_text())["precision"] == "fp32"


@pytest.mark.parametrize("command", ["predict", "embed", "evaluate"])
def test_complete_outputs_of_many_files_stay_on_another_device(
    classifier, labelled_pattern, tmp_path, monkeypatch, command
):
    run_files(command, classifier, labelled_pattern, tmp_path / "out", device="cpu")
    before = outputs(tmp_path / "out")
    monkeypatch.setattr(pipeline, "load_model", lambda directory: pytest.fail("loaded"))
    run_files(command, classifier, labelled_pattern, tmp_path / "out", device="cuda")
    assert outputs(tmp_path / "out") == before


@pytest.fixture
def login_node(monkeypatch):
    """A machine without a GPU that submits tasks and loads no model; the stages that it submits."""
    submitted = []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(Predictor, "load", lambda *arguments, **options: pytest.fail("loaded"))
    monkeypatch.setattr(file_workers, "run_stages", lambda stages, *arguments, **options: submitted.extend(stages))
    return submitted


@pytest.mark.parametrize("executor", ["slurm", "ray"])
@pytest.mark.parametrize("command", ["predict", "embed", "evaluate"])
def test_many_files_for_gpus_elsewhere_need_a_precision(classifier, pattern, tmp_path, login_node, executor, command):
    settings = {"device": "cuda", "files": FileWorkers(executor=executor)}
    with pytest.raises(ConfigError, match=r"auto is measured where the command starts.* give .* --precision bf16"):
        run_files(command, classifier, pattern, tmp_path / "out", precision="auto", **settings)
    assert not (tmp_path / "out").exists()
    text = run_files(command, classifier, pattern, tmp_path / "out", precision="bf16", **settings)
    assert "0 outputs of 4; the others are submitted" in text
    assert len(login_node) == 1


def test_many_files_do_not_trust_a_damaged_marker(classifier, pattern, tmp_path, one_worker):
    marker = tmp_path / "one" / ".done" / "a.csv.json"
    assert json.loads(marker.read_text())["result"]["predictions"] == 5
    marker.write_text("{")
    (tmp_path / "one" / "a.csv").write_text("damaged")
    predict_files(classifier, pattern, tmp_path / "one")
    assert outputs(tmp_path / "one") == one_worker


def test_file_workers_share_files_by_size(tmp_path):
    tasks = []
    for number, size in enumerate([1, 9, 5, 4]):
        path = tmp_path / str(number)
        path.write_bytes(b"x" * size)
        tasks.append(file_workers.FileTask(path, path, path))
    shares = file_workers._balanced(tasks, 2)
    assert [[len(task.source.read_bytes()) for task in share] for share in shares] == [[9, 1], [5, 4]]


def test_outputs_and_hidden_files_do_not_match_a_pattern(classifier, pattern, tmp_path, caplog):
    (tmp_path / "in" / ".hidden.csv").write_text("text\nfilm\n")
    (tmp_path / "in" / ".folder").mkdir()
    (tmp_path / "in" / ".folder" / "x.csv").write_text("text\nfilm\n")
    for outputs_of_before in (0, len(SIZES)):
        with caplog.at_level("INFO", "litebert"):
            assert predict_files(classifier, pattern, tmp_path / "in" / "out").files == len(SIZES)
        left_out = f"2 hidden files and {outputs_of_before} files below the output are left out"
        assert left_out in caplog.text
    assert {path.name for path in (tmp_path / "in" / "out").iterdir()} == {"a.csv", "b.csv", "deep", ".done"}
    assert predict_files(classifier, tmp_path / "in" / ".*.csv", tmp_path / "hidden").files == 1
    with pytest.raises(DataError, match=r"no file matches, as 1 hidden files and 0 files below the output are"):
        predict_files(classifier, tmp_path / "in" / "*hidden.csv", tmp_path / "hidden")
    for out in (tmp_path / "in", tmp_path):  # the directory of the inputs, and one above it
        assert predict_files(classifier, tmp_path / "in" / "*.csv", out, output_suffix=".jsonl").files == 2


def test_pattern_that_is_the_name_of_a_file_is_that_file(tmp_path):
    path = tmp_path / "[a].csv"
    assert is_pattern(path)
    path.write_text("text\n")
    assert not is_pattern(path)
    assert not is_pattern(tmp_path / "a.csv")
    assert not is_pattern(Path("hf:owner/name:test[:200]"))


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("in/*.tsv", {}, DataError, r"no file matches; check the pattern"),
        ("in/*", {"out": "in/a.csv"}, ConfigError, "is a file, but a pattern has an output for each file"),
        ("in/x.*", {}, ConfigError, r"x\.txt: has the same output as .*x\.jsonl"),
        ("in/a*", {"files": {"executor_options": ("a=1",)}}, ConfigError, "executor processes has no options"),
        ("in/a*", {"files": {"output_suffix": ".html"}}, ConfigError, r"none of the endings \.jsonl"),
        ("in/a*", {"task": "cola"}, ConfigError, "the input of a benchmark is its directory"),
        ("in/a.csv", {"files": {"workers": 2}}, ConfigError, "workers: only for a pattern of files"),
    ],
)
def test_predict_of_many_files_rejects_invalid_settings(
    classifier, more_files, tmp_path, name, options, error, message
):
    out = tmp_path / options.get("out", "out")
    values = {"model": str(classifier), "input": tmp_path / name, **options, "output": out}
    values.pop("out", None)
    with pytest.raises(error, match=message):
        predict(PredictRun.parse(values, where="predict"))


@pytest.fixture
def more_files(pattern, tmp_path):
    (tmp_path / "in" / "x.txt").write_text("music\n")
    (tmp_path / "in" / "x.jsonl").write_text('{"text": "music"}\n')
    return pattern


def test_embed_of_many_files_rejects_an_unknown_suffix(classifier, pattern, tmp_path):
    files = FileWorkers(output_suffix=".csv")
    with pytest.raises(ConfigError, match=r"none of the endings \.npy"):
        embed(EmbedRun(model=str(classifier), input=pattern, output=tmp_path / "out", files=files))
