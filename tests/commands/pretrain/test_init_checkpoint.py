"""Initial weights from another depth, a run, a checkpoint, a published model; another vocabulary is rejected."""

import logging
import shutil
from pathlib import Path

import pytest
import torch

from litebert.commands.pretrain.init_checkpoint import load_init_checkpoint, weights_digests
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.corpus.format.shards import Corpus
from litebert.errors import CheckpointError, ConfigError
from litebert.interop.convert_weights import convert
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.models import ForMaskedLM, ForMultipleChoice, ForPretraining, ForQuestionAnswering
from litebert.tokenization.tokenizer import Tokenizer
from support.runs.pretrain_runs import ONE_BLOCK, SIZES


def config(layers=1, **changes):
    return ModelConfig(**{**SIZES, "num_hidden_layers": layers, "vocab_size": 60, **changes})


@pytest.fixture(scope="module")
def tokenizer(corpus_directory):
    return Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)


@pytest.fixture(scope="module")
def run(corpus_directory, tmp_path_factory):
    """A finished run of one layer, with its checkpoint."""
    out = tmp_path_factory.mktemp("runs") / "shallow"
    pretrain(load_pretrain_config("quickstart", ONE_BLOCK, corpus=corpus_directory), out)
    return out


@pytest.fixture
def model(tmp_path, tokenizer):
    def save(kind=ForPretraining, files=None, **changes):
        files = tokenizer.files() if files is None else files
        return save_model(kind(config(**changes), seed=5), tmp_path / "source", extra_files=files)

    return save


def same(model, other):
    theirs = other.state_dict()
    return all(torch.equal(v, theirs[k]) for k, v in model.state_dict().items())


def test_init_checkpoint_with_per_layer_adapters_is_refused(tmp_path, tokenizer):
    model = ForPretraining(config(2), seed=5)
    attach(model, LoRASettings(per_layer=True))
    source = save_model(model, tmp_path / "source", extra_files=tokenizer.files())
    with pytest.raises(ConfigError, match=r"has per-layer adapters, .*; give the model that it was fine-tuned from"):
        load_init_checkpoint(str(source), config(2), tokenizer, seed=0)


@pytest.mark.parametrize("layers", [1, 2, 24])
def test_init_checkpoint_with_shared_layers_fits_any_depth(model, tokenizer, layers):
    """Source: ALBERT, appendix A.1."""
    source = model()
    deeper = load_init_checkpoint(str(source), config(layers), tokenizer, seed=0)
    assert deeper.config.num_hidden_layers == layers
    assert same(deeper, load_model(source))
    assert deeper.training


def test_init_checkpoint_copies_the_shared_layer_to_unshared_ones(model, tokenizer):
    started = load_init_checkpoint(str(model()), config(3, sharing="none"), tokenizer, seed=0).state_dict()
    kinds = [started[f"encoder.attentions.{layer}.query.weight"] for layer in range(3)]
    assert torch.equal(kinds[0], kinds[2])


def test_init_checkpoint_with_narrower_feed_forward_layers_is_widened(model, tokenizer):
    """The seed is that of the run, which draws the input weights of the new units."""
    source, size = model(), SIZES["intermediate_size"]
    wider = [load_init_checkpoint(str(source), config(intermediate_size=2 * size), tokenizer, seed=n) for n in (0, 1)]
    new = [one.encoder.feed_forwards[0].up.weight for one in wider]
    assert torch.equal(new[0][:size], load_model(source).encoder.feed_forwards[0].up.weight)
    assert torch.equal(new[0][:size], new[1][:size])
    assert not torch.equal(new[0][size:], new[1][size:])


@pytest.mark.parametrize(("groups", "averaged"), [(3, {}), (4, {}), (2, {1: (1, 2)})])
def test_a_warning_names_blocks_that_are_means(model, tokenizer, caplog, groups, averaged):
    """Three groups of four layers run as 0 0 1 2, two as 0 0 1 1: the second is the mean of the last two."""
    source = model(layers=4, num_hidden_groups=3)
    load_init_checkpoint(str(source), config(4, num_hidden_groups=groups), tokenizer, seed=0)
    expected = [f"attention {new} from {' and '.join(map(str, old))}" for new, old in averaged.items()]
    warnings = [record.getMessage() for record in caplog.records if "of several of its blocks" in record.getMessage()]
    assert len(warnings) == bool(averaged)
    assert all(part in warnings[0] for part in expected)


def test_a_checkpoint_of_another_width_is_named(model, tokenizer):
    source = model()
    with pytest.raises(ConfigError, match=r"init_checkpoint: .*source: hidden_size: the trained model has"):
        load_init_checkpoint(str(source), config(hidden_size=2 * SIZES["hidden_size"]), tokenizer, seed=0)


def test_init_checkpoint_of_a_run_is_its_model_or_newest_checkpoint(run, tokenizer, tmp_path):
    from_model = load_init_checkpoint(str(run), config(), tokenizer, seed=0)
    unfinished = tmp_path / "unfinished"
    shutil.copytree(run, unfinished, ignore=shutil.ignore_patterns("model"))
    from_checkpoint = load_init_checkpoint(str(unfinished), config(), tokenizer, seed=0)
    assert same(from_model, from_checkpoint)
    shutil.rmtree(unfinished / "checkpoints")
    with pytest.raises(ConfigError, match="neither a model nor a checkpoint yet"):
        load_init_checkpoint(str(unfinished), config(), tokenizer, seed=0)


def test_digests_of_a_run_are_those_of_the_files_that_are_loaded(run, tmp_path):
    assert weights_digests(str(run)) == weights_digests(str(run / "model"))
    unfinished = tmp_path / "unfinished"
    shutil.copytree(run, unfinished, ignore=shutil.ignore_patterns("model"))
    (checkpoint,) = (unfinished / "checkpoints").glob("step-*")
    valid = weights_digests(str(checkpoint))
    assert weights_digests(str(unfinished)) == valid
    damaged = Path(shutil.copytree(checkpoint, checkpoint.with_name("step-99999999")))
    (damaged / "litebert.safetensors").write_bytes(b"")
    assert weights_digests(str(unfinished)) == valid, "a damaged checkpoint is not loaded"
    shutil.rmtree(unfinished / "checkpoints")
    assert weights_digests(str(unfinished)) == {}


def test_init_checkpoint_can_be_one_checkpoint_of_a_run(run, tokenizer, tmp_path):
    checkpoint = next((run / "checkpoints").glob("step-*"))
    assert same(load_init_checkpoint(str(checkpoint), config(2), tokenizer, seed=0), load_model(run / "model"))
    moved = Path(shutil.copytree(checkpoint, tmp_path / "moved"))
    assert same(load_init_checkpoint(str(moved), config(2), tokenizer, seed=0), load_model(run / "model"))


def test_init_checkpoint_in_tensorflow_may_have_the_head_of_another_task(model, tokenizer, tmp_path):
    source = model(ForMultipleChoice)
    convert(source, tmp_path / "theirs", to="tensorflow")
    started = load_init_checkpoint(str(tmp_path / "theirs"), config(2), tokenizer, seed=0).encoder
    assert same(started, load_model(source).encoder)


@pytest.mark.parametrize("to", ["transformers", "tensorflow"])
def test_init_checkpoint_reads_transformers_and_tensorflow_checkpoints(model, tokenizer, tmp_path, to):
    source = model()
    convert(source, tmp_path / "theirs", to=to)
    assert same(load_init_checkpoint(str(tmp_path / "theirs"), config(2), tokenizer, seed=0), load_model(source))


def test_init_checkpoint_without_heads_initializes_them_and_warns(model, tokenizer, caplog):
    """The checkpoints on the hub have no SOP head."""
    caplog.set_level(logging.WARNING)
    started = load_init_checkpoint(str(model(ForMaskedLM)), config(), tokenizer, seed=3)
    missing = "encoder.pooler.weight, encoder.pooler.bias, sentence_pair.weight, sentence_pair.bias"
    assert f"has no {missing}; init" in caplog.text
    fresh = ForPretraining(config(), seed=3)
    assert torch.equal(started.sentence_pair.weight, fresh.sentence_pair.weight)
    assert not torch.equal(started.mlm.dense.weight, fresh.mlm.dense.weight)


def test_init_checkpoint_with_an_encoder_only_is_accepted(model, tokenizer):
    assert load_init_checkpoint(str(model(ForQuestionAnswering)), config(), tokenizer, seed=0)


def test_init_checkpoint_of_another_vocabulary_is_rejected(model, tokenizer, tiny_tokenizer):
    with pytest.raises(ConfigError, match=r"another vocabulary than that of the corpus; build .* --tokenizer"):
        load_init_checkpoint(str(model(files=tiny_tokenizer.files())), config(), tokenizer, seed=0)


def test_init_checkpoint_of_another_vocab_size_is_rejected(model, tokenizer):
    with pytest.raises(ConfigError, match="has 64 tokens, the corpus's tokenizer has 60"):
        load_init_checkpoint(str(model(files={}, vocab_size=64)), config(), tokenizer, seed=0)


def test_init_checkpoint_of_another_width_is_rejected(model, tokenizer):
    with pytest.raises(ConfigError, match="hidden_size"):
        load_init_checkpoint(str(model()), config(hidden_size=32), tokenizer, seed=0)


def test_init_checkpoint_that_does_not_exist_is_named(tokenizer, tmp_path):
    with pytest.raises(CheckpointError, match="absent"):
        load_init_checkpoint(str(tmp_path / "absent"), config(), tokenizer, seed=0)


def test_init_checkpoint_of_a_shallower_run_keeps_the_new_schedule(run, corpus_directory, tmp_path):
    """One step of table 11: the deep model starts with the weights of the shallow one."""
    more = [f"init_checkpoint={run}", "model.num_hidden_layers=2", "train.learning_rate=0.000001"]
    result = pretrain(
        load_pretrain_config("quickstart", [*ONE_BLOCK, *more], corpus=corpus_directory), tmp_path / "deep"
    )
    assert result.steps == 2
    card = (tmp_path / "deep" / "model" / "README.md").read_text()
    assert f"| initialization | weights of {run.name} |" in card
    found, origin = load_model(result.model).state_dict(), load_model(run / "model").state_dict()
    assert all((found[name] - origin[name]).abs().max() < 1e-4 for name in found)


def test_another_function_of_weights_of_the_same_shapes_is_a_warning(model, tokenizer, caplog):
    source = str(model())
    load_init_checkpoint(source, config(), tokenizer, seed=0)
    assert "was trained with" not in caplog.text
    load_init_checkpoint(source, config(layer_norm_eps=1e-6), tokenizer, seed=0)
    assert "was trained with layer_norm_eps 1e-12; the model has 1e-06" in caplog.text
