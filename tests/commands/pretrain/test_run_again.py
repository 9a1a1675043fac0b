"""A pretraining run whose command is run again after its inputs, its files or its settings have changed."""

import shutil

import pytest

from litebert.commands.pretrain.pretrain import pretrain
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.errors import CheckpointError
from litebert.tokenization.tokenizer import Tokenizer
from support.models.tolerances import tolerance
from support.runs.callbacks import KilledError, killer
from support.runs.pretrain_runs import plan

THREE_STEPS = ("train.duration=3 steps", "train.checkpoint_every=2 steps")
UNTRAINED = "train.learning_rate=1e-9"


@pytest.fixture(scope="module")
def source(corpus_directory, tmp_path_factory):
    """The model of a run that has learned something."""
    out = tmp_path_factory.mktemp("source") / "run"
    return pretrain(plan(corpus_directory, "train.duration=30 steps"), out).model


@pytest.fixture(scope="module")
def other_source(corpus_directory, tmp_path_factory):
    out = tmp_path_factory.mktemp("source") / "run"
    return pretrain(plan(corpus_directory, "train.duration=1 steps", "seed=9"), out).model


@pytest.fixture(scope="module")
def other_documents(corpus_directory, text_file, tmp_path_factory):
    """A corpus of other text, with the same tokenizer."""
    directory = tmp_path_factory.mktemp("other")
    (directory / "text.txt").write_text(text_file.read_text().replace("baker", "farmer"))
    tokenizer = Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)
    settings = CorpusSettings(validation_fraction=0.2)
    build_corpus([directory / "text.txt"], tokenizer, settings, directory / "corpus")
    return directory / "corpus"


def killed(run, out, *, after="checkpoint"):
    with pytest.raises(KilledError):
        pretrain(run, out, callbacks=[killer(after, 2)])


def test_checkpoint_under_another_name_is_none_so_the_run_starts_from_its_weights(corpus_directory, source, tmp_path):
    run = plan(corpus_directory, *THREE_STEPS, UNTRAINED, f"init_checkpoint={source}")
    killed(run, tmp_path / "run")
    (checkpoint,) = (tmp_path / "run" / "checkpoints").glob("step-*")
    checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.bak"))
    result = pretrain(run, tmp_path / "run")
    assert result.steps == 3
    assert result.end.mlm_loss == pytest.approx(result.start.mlm_loss, rel=tolerance()), "not random weights"


def test_permitted_change_of_init_checkpoint_keeps_the_run(corpus_directory, source, other_source, tmp_path):
    """A resumed run reads its checkpoint, so nothing says that it started from the weights that are named now."""
    killed(plan(corpus_directory, *THREE_STEPS, f"init_checkpoint={source}"), tmp_path / "run")
    changed = [f"init_checkpoint={other_source}", "train.allow_config_changes=[init_checkpoint]"]
    result = pretrain(plan(corpus_directory, *THREE_STEPS, *changed), tmp_path / "run")
    assert result.init_checkpoint == ""
    assert pretrain(plan(corpus_directory, *THREE_STEPS, *changed), tmp_path / "run") == result


def test_corpus_that_was_moved_keeps_the_scores_before_the_first_step(corpus_directory, tmp_path):
    killed(plan(corpus_directory, *THREE_STEPS), tmp_path / "run")
    moved = shutil.copytree(corpus_directory, tmp_path / "moved")
    result = pretrain(plan(moved, *THREE_STEPS, "train.allow_config_changes=[corpus]"), tmp_path / "run")
    assert result.start == pretrain(plan(moved, *THREE_STEPS), tmp_path / "fresh").start


def test_scores_before_the_first_step_on_other_documents_at_the_same_path_are_dropped(
    corpus_directory, other_documents, tmp_path
):
    corpus = shutil.copytree(corpus_directory, tmp_path / "corpus")
    killed(plan(corpus, *THREE_STEPS), tmp_path / "run")
    shutil.rmtree(corpus)
    shutil.copytree(other_documents, corpus)
    result = pretrain(plan(corpus, *THREE_STEPS, "train.allow_config_changes=[corpus,batches]"), tmp_path / "run")
    assert result.start is None
    assert not (tmp_path / "run" / "initial_scores.json").exists()


def test_finished_run_with_other_documents_in_its_mixture_is_refused(corpus_directory, second_corpus, tmp_path):
    mixture = shutil.copytree(second_corpus, tmp_path / "mixture")
    run = plan(corpus_directory, *THREE_STEPS, f"data_mixture={{{mixture}: 0.5}}")
    result = pretrain(run, tmp_path / "run")
    assert pretrain(run, tmp_path / "run") == result
    shutil.rmtree(mixture)
    shutil.copytree(corpus_directory, mixture)
    with pytest.raises(CheckpointError, match=r"mixture: the documents are not those that the finished run in"):
        pretrain(run, tmp_path / "run")


def test_run_that_was_extended_and_is_shortened_again_has_its_earlier_best_model(corpus_directory, tmp_path):
    best = ["metric_for_best_model=mlm_loss", "train.evaluate_every=2 steps", "train.checkpoint_every=9 steps"]
    permitted = "train.allow_config_changes=[train.duration]"
    first = pretrain(plan(corpus_directory, *best, "train.duration=2 steps"), tmp_path / "run")
    weights = (first.model / "model.safetensors").read_bytes()
    longer = plan(corpus_directory, *best, "train.duration=8 steps", permitted)
    with pytest.raises(KilledError):
        pretrain(longer, tmp_path / "run", callbacks=[killer("step", 7)])
    assert (tmp_path / "run" / "best").is_dir()
    again = pretrain(plan(corpus_directory, *best, "train.duration=2 steps", permitted), tmp_path / "run")
    assert (again.model / "model.safetensors").read_bytes() == weights
    assert (again.model / "evaluation.json").is_file()


@pytest.mark.parametrize("content", [None, ""])
def test_run_whose_environment_is_gone_or_damaged_finishes(corpus_directory, source, tmp_path, content):
    run = plan(corpus_directory, *THREE_STEPS, f"init_checkpoint={source}")
    killed(run, tmp_path / "run")
    environment = tmp_path / "run" / "environment.json"
    environment.unlink()
    if content is not None:
        environment.write_text(content)
    assert pretrain(run, tmp_path / "run").init_checkpoint == ""
