"""A run from start to finish: its metrics, how it stops, what it refuses."""

import os
import signal
import time

import pytest
import torch

from litebert.errors import CheckpointError, ConfigError, StoppedBySignalError
from litebert.training.callbacks.callback import Callback
from support.runs.callbacks import At
from support.runs.toy import ToyBatches, ToyModel, losses, rows, train, trainer, validation


def test_training_lowers_the_loss(tmp_path):
    before = validation(ToyModel())["loss"]
    model, result = train(tmp_path, duration="80 steps", evaluate=validation)
    assert result.evaluation["loss"] < before / 2
    assert result.evaluation == validation(model)


def test_train_result_counts_steps_and_tokens(tmp_path):
    _, result = train(tmp_path)
    assert (result.steps, result.tokens, result.skipped_steps, result.evaluation) == (6, 6 * 48, 0, {})
    assert result.elapsed_seconds > 0


def test_step_seconds_leave_out_evaluation_and_callbacks(tmp_path):
    def evaluate_slowly(model):
        time.sleep(0.3)
        return {"loss": 1.0}

    class SlowCallback(Callback):
        def on_step(self, run, record):
            time.sleep(0.05)

    _, result = train(tmp_path, duration="2 steps", evaluate=evaluate_slowly, callbacks=[SlowCallback()])
    assert 0 < result.step_seconds <= result.elapsed_seconds - 0.4


class Clock(Callback):
    """Replaces the clock of the trainer: a step takes a second."""

    def __init__(self, monkeypatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr("litebert.training.trainer.time.perf_counter", lambda: self.seconds)

    def limits(self, losses):
        self.seconds += 1
        return super().limits(losses)


@pytest.mark.parametrize(("duration", "steps"), [("12 seconds", {4}), ("20 seconds", {4, 6})])
def test_checkpoint_that_becomes_due_during_an_evaluation_is_saved_after_it(tmp_path, monkeypatch, duration, steps):
    clock = Clock(monkeypatch)

    def evaluate(model):  # after 4 and 16 seconds, until 14 and 26
        clock.seconds += 10
        return {"loss": 1.0}

    settings = {"evaluate_every": "4 seconds", "checkpoint_every": "6 seconds"}
    train(tmp_path, duration=duration, schedule="constant", evaluate=evaluate, callbacks=[clock], **settings)
    saved = {int(path.name.split("-")[1]) for path in (tmp_path / "checkpoints").glob("step-*")}
    assert saved == steps


def test_checkpoint_whose_interval_ends_in_skipped_steps_is_saved_after_the_next_update(tmp_path):
    broken = ToyBatches(broken=((3, 0), (4, 0)))
    train(tmp_path, batches=broken, duration="9 steps", checkpoint_every="4 steps", keep_checkpoints=9)
    saved = sorted(int(path.name.split("-")[1]) for path in (tmp_path / "checkpoints").glob("step-*"))
    assert saved == [6, 8, 9]


def test_run_whose_time_ends_in_a_rollback_is_evaluated_and_saved(tmp_path, monkeypatch):
    batches = ToyBatches(broken=((4, 0),))
    limits = {"checkpoint_every": "2 steps", "max_consecutive_skipped_steps": 0}
    run = {"duration": "5 seconds", "schedule": "constant", "batches": batches, "evaluate": validation, **limits}
    model, result = train(tmp_path, callbacks=[Clock(monkeypatch)], **run)
    assert (result.steps, result.elapsed_seconds, result.skipped_steps) == (4, 5.0, 1)
    assert result.evaluation == validation(model)
    _, again = train(tmp_path, callbacks=[Clock(monkeypatch)], **run)
    assert (again.steps, again.elapsed_seconds, again.evaluation) == (4, 5.0, {})


def test_metrics_of_a_step_are_complete(tmp_path):
    train(tmp_path, flops=lambda batch: 100 * batch.num_tokens)
    first = rows(tmp_path)[0]
    assert first["step"] == 1
    assert first["train/progress"] == pytest.approx(1 / 6)
    assert first["train/loss"] == first["train/class_loss"] + first["train/size_loss"]
    assert first["train/flops_per_second"] == pytest.approx(100 * first["train/tokens_per_second"])
    assert first.keys() >= {
        *("train/learning_rate", "train/grad_norm", "train/class_accuracy", "train/tokens"),
        *("train/examples_per_second", "train/elapsed_seconds", "train/skipped_steps"),
    }


@pytest.mark.parametrize(
    ("duration", "steps"), [("4 steps", 4), ("30 examples", 4), ("0.4 epochs", 4), ("150 tokens", 4)]
)
def test_duration_of_every_unit_ends_a_run(tmp_path, duration, steps):
    _, result = train(tmp_path, duration=duration, warmup=0.5)
    assert result.steps == steps


def test_duration_in_seconds_includes_the_time_before_a_resume(tmp_path):
    _, result = train(tmp_path, duration="0.2 seconds", schedule="constant")
    assert result.elapsed_seconds >= 0.2
    _, again = train(tmp_path, duration="0.2 seconds", schedule="constant")
    assert again == result


def test_warmup_may_be_a_duration(tmp_path):
    train(tmp_path, warmup="2 steps", learning_rate=0.5)
    rates = [row["train/learning_rate"] for row in rows(tmp_path)]
    assert rates[:4] == pytest.approx([0.25, 0.5, 0.5, 0.375])


def test_finished_run_does_nothing(tmp_path, caplog):
    caplog.set_level("INFO")
    first_model, first = train(tmp_path)
    log = (tmp_path / "metrics.jsonl").read_bytes()
    model, again = train(tmp_path)
    assert again == first
    assert "finished at step 6, nothing to do" in caplog.text
    assert (tmp_path / "metrics.jsonl").read_bytes() == log
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), first_model.parameters(), strict=True))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signal_saves_the_state_and_the_resumed_run_is_bit_exact(tmp_path, number):
    whole, _ = train(tmp_path / "whole")
    with pytest.raises(StoppedBySignalError, match=f"by {number.name} after step 3; the state is saved") as stopped:
        train(tmp_path / "cut", callbacks=[At("step", 2, lambda: os.kill(os.getpid(), number))])
    assert stopped.value.exit_code == 128 + number
    assert (tmp_path / "cut" / "checkpoints" / "step-00000003").is_dir()
    model, _ = train(tmp_path / "cut")
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), whole.parameters(), strict=True))


def test_signal_at_the_last_step_does_not_interrupt(tmp_path):
    _, result = train(tmp_path, callbacks=[At("step", 5, lambda: os.kill(os.getpid(), signal.SIGTERM))])
    assert result.steps == 6


def test_steps_that_are_not_finite_are_skipped_and_counted(tmp_path):
    model, result = train(tmp_path, batches=ToyBatches(broken=((2, 0), (3, 0))))
    assert result.skipped_steps == 2
    assert [row["train/loss"] is None for row in rows(tmp_path)] == [False, False, True, True, False, False]
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_fp16_skips_steps_until_its_scale_fits(tmp_path):
    model, result = train(tmp_path, precision="fp16", duration="8 steps")
    assert 0 < result.skipped_steps < 8
    assert not torch.equal(model.up.weight, ToyModel().up.weight)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.02}, "train.learning_rate was 0.01, is 0.02"),
        ({"duration": "9 steps", "seed": 1}, "seed was 0, is 1; train.duration was '4 steps', is '9 steps'"),
        (
            {"batches": ToyBatches(fingerprint="other")},
            "the examples of the batches are not those that the run began with (batches)",
        ),
        ({"batches": ToyBatches(batch_size=4)}, "batch_size was 8, is 4"),
        ({"fingerprint": {"model": {"layers": 2}}}, "model.layers was 1, is 2"),
    ],
)
def test_checkpoint_of_another_run_is_refused_by_the_fields_that_differ(tmp_path, changes, message):
    first = {"duration": "4 steps", "fingerprint": {"model": {"layers": 1}}}
    train(tmp_path, **first)
    with pytest.raises(CheckpointError) as refused:
        train(tmp_path, **(first | changes))
    assert f"the checkpoint is of another run: {message}. Restore" in str(refused.value)


def test_config_change_may_be_allowed(tmp_path):
    train(tmp_path, duration="4 steps", schedule="constant")
    _, result = train(tmp_path, duration="6 steps", schedule="constant", allow_config_changes=["train.duration"])
    assert result.steps == 6
    assert list(losses(tmp_path)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("change", ["names", "shapes"])
def test_checkpoint_of_another_model_is_refused_even_if_allowed(tmp_path, change):
    train(tmp_path)
    other = ToyModel()
    if change == "names":
        other.extra = torch.nn.Linear(1, 1)
    else:
        other.up = torch.nn.Linear(other.up.in_features, 1)
    message = r"the names or shapes of the parameters are not .*\. Restore these, or start in a new directory$"
    with pytest.raises(CheckpointError, match=message):
        train(tmp_path, model=other, allow_config_changes=["parameters"])


MUON = {"optimizer": "muon", "muon_learning_rate": 0.01, "muon_parameters": ["up"]}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({**MUON, "optimizer": "adamw"}, MUON),
        (MUON, {**MUON, "optimizer": "lamb"}),
        (MUON, {**MUON, "muon_parameters": ["classifier"]}),
    ],
    ids=["to muon", "from muon", "other matrices"],
)
def test_another_optimizer_that_is_permitted_begins_without_moments(tmp_path, caplog, before, now):
    train(tmp_path, duration="4 steps", schedule="constant", **before)
    changes = {"schedule": "constant", "allow_config_changes": ["train"]}
    _, result = train(tmp_path, duration="6 steps", **now, **changes)
    assert result.steps == 6
    assert "is of another optimizer; this one begins without its moments" in caplog.text


def test_settings_of_muon_that_another_optimizer_does_not_read_leave_its_moments(tmp_path, caplog):
    run = {"schedule": "constant", "optimizer": "lamb", "allow_config_changes": ["train"]}
    train(tmp_path / "whole", duration="6 steps", **run)
    train(tmp_path / "cut", duration="4 steps", **run)
    train(tmp_path / "cut", duration="6 steps", muon_parameters=["classifier"], **run)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert "another optimizer" not in caplog.text


def test_checkpoint_that_a_rank_does_not_see_is_an_error(tmp_path, monkeypatch):
    run = trainer(tmp_path)
    monkeypatch.setattr(
        "litebert.training.checkpointing.checkpoint.Checkpoints.newest_valid",
        lambda self, until=None: tmp_path / "elsewhere",
    )
    with pytest.raises(CheckpointError, match="not seen by rank 0; all machines must share the directory"):
        run.fit()


def test_error_in_a_batch_source_ends_the_run(tmp_path):
    class Failing(ToyBatches):
        def microbatches(self, step):
            raise ConfigError("no such step")

    with pytest.raises(ConfigError, match="no such step"):
        train(tmp_path, batches=Failing())


def test_precision_that_is_not_measured_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="precision: expected fp32, bf16 or fp16 here, found auto"):
        train(tmp_path / "run", precision="auto")
    assert not (tmp_path / "run").exists()


def test_run_that_a_callback_stops_is_evaluated(tmp_path):
    class Stop(Callback):
        def on_step(self, run, record):
            if record.step == 3:
                run.request_stop()

    _, result = train(tmp_path, evaluate=lambda model: {"loss": 1.0}, evaluate_every="5 steps", callbacks=[Stop()])
    assert (result.steps, result.evaluation) == (3, {"loss": 1.0})
