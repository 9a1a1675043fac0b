"""A dry run reports what the run would need and writes nothing."""

import json

import pytest
import torch

from litebert.cli.main import main
from litebert.commands.pretrain.corpus_passes import corpus_passes, passes_text
from litebert.commands.pretrain.dry_run import dry_run, kinds_of_steps
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_cost import expected_memory
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import CheckpointError, ConfigError, DataError, LitebertError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from litebert.training.checkpointing.checkpoint import read_tensors
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.memory import OutOfMemoryError
from litebert.training.loop.run_schedule import RunSchedule
from support.models.tolerances import close_to

SMALL = (
    *("model.num_hidden_layers=2", "model.hidden_size=32", "model.num_attention_heads=2", "model.embedding_size=16"),
    *("model.intermediate_size=64", "sampling.max_length=32", "batch_size=8", "microbatch_size=4", "train.device=cpu"),
)


def plan(corpus, *more):
    return load_pretrain_config("quickstart", [*SMALL, "train.duration=120 steps", *more], corpus=corpus)


@pytest.fixture(scope="module")
def report(corpus_directory, tmp_path_factory):
    return dry_run(plan(corpus_directory), tmp_path_factory.mktemp("dry") / "run")


def test_dry_run_counts_parameters_memory_and_steps(report, corpus_directory):
    parameters = sum(parameter.numel() for parameter in ForPretraining(plan(corpus_directory).model).parameters())
    assert report.parameters == parameters
    assert (report.weights, report.optimizer, report.checkpoint) == (4 * parameters, 8 * parameters, 12 * parameters)
    assert (report.batch_size, report.microbatches, report.microbatch_size, report.processes) == (8, 2, 4, 1)
    assert (report.steps, report.seconds) == (120, pytest.approx(120 * report.step_seconds))
    assert report.disk_needed == report.checkpoint * (report.kept_checkpoints + 1) < report.disk_free


@pytest.mark.parametrize("optimizer", ["lamb", "adamw", "muon"])
def test_dry_run_has_the_size_of_the_optimizer_and_of_a_checkpoint(corpus_directory, tmp_path, optimizer):
    run = plan(corpus_directory, f"train.optimizer={optimizer}", "train.duration=1 step", "max_eval_examples=0")
    report = dry_run(run, tmp_path / "run")
    pretrain(run, tmp_path / "run")
    tensors = read_tensors(tmp_path / "run" / "checkpoints" / "step-00000001")
    # Without the number of steps, which PyTorch's AdamW counts for each parameter.
    model, states = (sum(each.numel() for each in part.values() if each.ndim) for part in tensors)
    assert (report.optimizer, report.checkpoint) == (4 * states, 4 * (model + states))
    assert (states < 2 * model) is (optimizer == "muon")


def test_fsdp_divides_the_state_of_the_optimizer_and_keeps_a_share_of_the_weights(corpus_directory):
    whole, sharded = (
        expected_memory(plan(corpus_directory, f"train.fsdp={fsdp}"), processes=4) for fsdp in (False, True)
    )
    assert sharded.optimizer == whole.optimizer // 4
    assert sharded.weights == whole.weights + whole.weights // 4
    assert (sharded.gradients, sharded.activations) == (whole.gradients, whole.activations)


def test_dry_run_report_has_seven_lines(report):
    text = report.to_text()
    assert len(text.splitlines()) == 7
    assert "learning rate: 0.0015; warm-up to step 12, then linear decay to 0 at step 120" in text
    assert "batch of 8: 1 process(es) x 2 microbatch(es) of 4" in text
    assert "120 steps in" in text
    assert "NOT ENOUGH" not in text


def test_dry_run_reports_the_passes_over_the_corpus(report, corpus_directory):
    tokens = Corpus.open(corpus_directory, "train").num_tokens
    assert report.corpus_tokens == tokens
    assert f"corpus: {tokens:,} tokens; {passes_text(report.passes)}" in report.to_text()
    assert json.loads(json.dumps(report.to_dict()))["passes"] == report.passes


@pytest.mark.parametrize(
    ("duration", "passes"), [("3 epochs", 3), ("{tokens} tokens", 1), ("{tokens}0 tokens", 10), ("1 minute", None)]
)
@pytest.mark.parametrize("weight", [0, 1])
def test_passes_over_the_corpus_follow_from_the_duration(corpus_directory, duration, passes, weight):
    tokens = Corpus.open(corpus_directory, "train").num_tokens
    mixture = [f"data_mixture={{{corpus_directory}: {weight}}}"] if weight else []
    run = plan(corpus_directory, f"train.duration={duration.format(tokens=tokens)}", *mixture)
    start = PretrainStart.of(run)
    schedule = RunSchedule.of(run.train, start.batches(DistributedContext(0, 1, torch.device("cpu"))))
    found = corpus_passes(start, schedule, steps=schedule.total_steps)
    if passes is None or duration.endswith("epochs"):
        assert found == (passes and pytest.approx(passes, rel=0.05))
    else:
        assert found == pytest.approx(passes / (1 + weight))


def test_many_passes_over_the_corpus_have_a_note():
    assert passes_text(0.01) == "less than 0.1 passes over the corpus"
    assert passes_text(4.26) == "4.3 passes over the corpus"
    assert passes_text(10) == "10 passes over the corpus"
    assert passes_text(1234.5) == (
        "1,234 passes over the corpus; note: above 10, a smaller recipe or more text is better"
    )


@pytest.mark.parametrize(("duration", "check"), [("7200 seconds", "2 h, without"), ("1M tokens", "steps in")])
def test_dry_run_reports_steps_and_time_for_any_unit_of_duration(corpus_directory, tmp_path, duration, check):
    report = dry_run(plan(corpus_directory, f"train.duration={duration}"), tmp_path)
    assert check in report.to_text()
    assert report.steps == pytest.approx(report.seconds / report.step_seconds, rel=0.01)


@pytest.mark.parametrize("setting", [None, "init_checkpoint", "data_mixture"])
def test_dry_run_loss_is_that_of_the_first_step_of_the_run(corpus_directory, second_corpus, tmp_path, setting):
    changes = ["train.duration=1 step", "max_eval_examples=0", "model.hidden_dropout_prob=0"]
    if setting == "init_checkpoint":
        source = ForPretraining(plan(corpus_directory).model.replace(initializer_range=1.0), seed=9)
        changes.append(f"init_checkpoint={save_model(source, tmp_path / 'source')}")
    if setting == "data_mixture":
        changes.append(f"data_mixture={{{second_corpus}: 3}}")
    run = plan(corpus_directory, *changes)
    report = dry_run(run, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    pretrain(run, tmp_path / "run")
    first = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])
    assert report.loss == close_to(first["train/loss"])
    assert (report.loss == pytest.approx(dry_run(plan(corpus_directory), tmp_path).loss)) is (setting is None)


def test_dry_run_counts_the_epoch_of_a_mixture_as_the_run_does(corpus_directory, second_corpus, tmp_path):
    alone, mixed = (
        dry_run(plan(corpus_directory, "train.duration=1 epoch", *more), tmp_path).steps
        for more in ([], [f"data_mixture={{{second_corpus}: 1}}"])
    )
    assert mixed == pytest.approx(2 * alone, abs=1)


@pytest.mark.parametrize(
    ("override", "error", "message"),
    [
        ("init_checkpoint=/no/such/model", CheckpointError, "^init_checkpoint: /no/such/model: no such directory"),
        ("init_checkpoint=MODEL model.hidden_size=64", ConfigError, "hidden_size"),
        ("data_mixture={/no/such/corpus: 1}", LitebertError, "/no/such/corpus"),
        ("train.warmup='500 steps'", ConfigError, "warmup: 500 steps leaves nothing"),
        ("train.fsdp=true", ConfigError, "fsdp: there is only one process"),
    ],
)
@pytest.mark.parametrize("command", [pretrain, dry_run])
def test_wrong_settings_are_rejected_before_anything_is_written(
    corpus_directory, tmp_path, command, override, error, message
):
    save_model(ForPretraining(plan(corpus_directory).model), tmp_path / "model")
    overrides = override.replace("MODEL", str(tmp_path / "model")).split(" model.")
    run = plan(corpus_directory, overrides[0], *(f"model.{more}" for more in overrides[1:]))
    with pytest.raises(error, match=message):
        command(run, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [pretrain, dry_run])
def test_corpus_without_validation_split_needs_max_eval_examples_0(second_corpus, tmp_path, command):
    with pytest.raises(DataError, match=r"validation split has no documents.*or train without evaluation: max_eval"):
        command(plan(second_corpus), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    command(plan(second_corpus, "max_eval_examples=0", "train.duration=1 step"), tmp_path / "run")


def test_run_directory_can_be_used_after_a_rejected_command(corpus_directory, tmp_path):
    with pytest.raises(CheckpointError):
        pretrain(plan(corpus_directory, "init_checkpoint=/no/such/model"), tmp_path / "run")
    assert pretrain(plan(corpus_directory, "train.duration=1 step"), tmp_path / "run").steps == 1


def test_dry_run_finds_the_largest_microbatch_that_fits(corpus_directory, tmp_path, monkeypatch, caplog):
    def profile_step(model, *, batches, **others):
        if batches.microbatch_size > 1:
            raise OutOfMemoryError("too much", examples=batches.microbatch_size)
        return original(model, batches=batches, **others)

    original = dry_run.__globals__["profile_step"]
    monkeypatch.setitem(dry_run.__globals__, "profile_step", profile_step)
    assert dry_run(plan(corpus_directory), tmp_path).microbatch_size == 1
    assert caplog.text.count("too much") == 2


def test_dry_run_out_of_memory_with_one_example_is_an_error(corpus_directory, tmp_path, monkeypatch):
    def forward(self, *args, **kwargs):
        return torch.empty(10**15)

    monkeypatch.setattr(ForPretraining, "forward", forward)
    with pytest.raises(OutOfMemoryError, match="a microbatch of 1 examples"):
        dry_run(plan(corpus_directory, "microbatch_size=1"), tmp_path)


def test_dry_run_command_prints_json_and_writes_nothing(corpus_directory, tmp_path, capsys):
    words = ["pretrain", "quickstart", *SMALL, "--corpus", str(corpus_directory), "--out", str(tmp_path / "run")]
    assert main([*words, "--dry-run", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["disk_needed"] > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("fraction", "shares"), [(0, {0: 1}), (0.75, {0: 0.25, 1: 0.75}), (0.25, {0: 0.75, 3: 0.25})])
def test_dry_run_profiles_a_step_of_each_kind(fraction, shares):
    assert kinds_of_steps(SamplingSettings(causal_fraction=fraction)) == shares


@pytest.mark.parametrize(
    ("duration", "logged"),
    [("1 step", "passes over the corpus"), ("1 second", "--dry-run estimates the passes over it")],
)
def test_a_run_logs_the_passes_over_its_corpus_at_its_start(corpus_directory, tmp_path, caplog, duration, logged):
    run = plan(corpus_directory, f"train.duration={duration}", "max_eval_examples=0")
    with caplog.at_level("INFO", "litebert"):
        pretrain(run, tmp_path / "run")
    assert logged in caplog.text
    assert logged in (tmp_path / "run" / "train.log").read_text()
