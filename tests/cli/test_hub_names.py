"""A name on the hub works wherever a command takes a model, and is looked up once."""

import importlib.util
import shutil

import pytest

from litebert.cli.main import main
from litebert.errors import CheckpointError
from litebert.model.io.model_directory import load_model, save_model
from litebert.serving.loaded_model import find_directory
from litebert.serving.serve_settings import ServeSettings
from litebert.tokenization.tokenizer import Tokenizer
from support.data.benchmark_files import write_cola
from support.runs.pretrain_runs import TOY

SHORT = "train.duration=1_steps train.device=cpu train.precision=fp32"
TUNING = f"quickstart {SHORT} --train made/labelled.csv --out out"
TASKS = "finetune-tasks cola --model someone/pretrained --task-dir glue --out out"
SETTINGS = f"--settings {SHORT} train.evaluate_every=null train.warmup=0.1 batch_size=4 max_length=16"
ONCE = (
    "evaluate someone/tuned --data made/labelled.csv",
    "evaluate someone/pretrained --corpus made/corpus --max-eval-examples 16",
    "predict someone/tuned made/labelled.csv out.csv",
    "predict someone/tuned made/label*.csv out",
    "compare someone/tuned --baseline copy --data made/labelled.csv",
    "ensemble someone/tuned --data made/labelled.csv",
    "glue-submission cola=someone/judge --task-dir glue --out out.zip",
    "embed someone/pretrained made/labelled.csv out.npy",
    "embed someone/pretrained made/label*.csv out",
    "search someone/pretrained made/labelled.csv --query film",
    "convert someone/tuned out --to tensorflow",
    "info someone/pretrained",
    f"finetune {TUNING} --model someone/pretrained",
    f"finetune {TUNING} --model someone/pretrained --from-scratch",
    f"pretrain quickstart {' '.join(TOY).replace('4 steps', '1_steps')} init_checkpoint=someone/pretrained "
    "--corpus made/corpus --out out",
)
ONCE_IN_EACH_RUN = (
    f"sweep {TUNING} --model someone/pretrained --seeds 2",
    f"{TASKS} {SETTINGS}",
    f"{TASKS} --random-weights {SETTINGS}",
)
OPTIONAL = {
    "onnx": "export someone/tuned out",
    "matplotlib": "analyze layers someone/pretrained --corpus made/corpus --examples 2 --out out.png",
}
"""Library → the command that needs it."""


@pytest.fixture(scope="module")
def models(made, tmp_path_factory):
    """Name on the hub → model directory."""
    pretrained = made / "run" / "model"
    labels = {"as_model": "ForSequenceClassification", "labels": ("0", "1"), "fresh": ("classifier",)}
    judge = tmp_path_factory.mktemp("judge") / "model"
    save_model(
        load_model(pretrained, **labels), judge, labels=("0", "1"), extra_files=Tokenizer.load(pretrained).files()
    )
    return {"someone/pretrained": pretrained, "someone/tuned": made / "tuned" / "model", "someone/judge": judge}


@pytest.fixture
def asked(models, monkeypatch):
    """The names that the hub, which has `models`, is asked for."""
    names = []

    def answer(name, *_):
        names.append(name)
        return models[name]

    monkeypatch.setattr("litebert.model.io.hub.fetch", answer)
    monkeypatch.setattr("litebert.model.io.hub.download", answer)
    return names


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """The working directory, with the files that the command lines name."""
    (tmp_path / "made").symlink_to(made)
    shutil.copytree(made / "tuned" / "model", tmp_path / "copy")
    write_cola(tmp_path / "glue")
    monkeypatch.chdir(tmp_path)


def run(line: str) -> int:
    return main([word.replace("1_steps", "1 steps") for word in line.split()])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", ONCE)
def test_command_takes_a_name_on_the_hub_and_looks_it_up_once(line, asked, capsys):
    assert run(line) == 0, capsys.readouterr().err
    assert len(asked) == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", ONCE_IN_EACH_RUN)
def test_command_of_several_runs_takes_a_name_on_the_hub(line, asked, capsys):
    assert run(line) == 0, capsys.readouterr().err
    assert set(asked) == {"someone/pretrained"}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("library", OPTIONAL)
def test_command_with_an_optional_library_takes_a_name_on_the_hub(library, asked, capsys):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    assert run(OPTIONAL[library]) == 0, capsys.readouterr().err
    assert len(asked) == 1


def test_server_takes_a_name_on_the_hub(models, asked):
    assert find_directory("someone/tuned", ServeSettings(models=("someone/tuned",))) == models["someone/tuned"]
    assert asked == ["someone/tuned"]


def test_push_takes_a_directory_only(asked, capsys):
    assert run("push someone/tuned someone/copy") == CheckpointError.exit_code
    assert "someone/tuned: no config.json here; give a model or run directory" in capsys.readouterr().err
    assert asked == []
