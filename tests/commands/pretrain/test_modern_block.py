"""Pretraining of the modern block: it learns, resumes bit by bit and saves a model that loads."""

import pytest
import torch

from litebert.commands.analyze import layer_analysis
from litebert.commands.analyze.layer_analysis import layer_transitions, layers
from litebert.commands.analyze.layers_settings import LayersRun
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForPretraining
from support.data.labelled_files import write_opinions
from support.models.tolerances import tolerance
from support.runs.pretrain_runs import SIZES, losses

MODERN = (
    *(f"model.{name}={value}" for name, value in SIZES.items()),
    "model.num_hidden_layers=2",
    "model.recursion_lora_rank=2",
    "model.num_attention_heads=4",
    "sampling.max_length=32",
    "batch_size=8",
    "microbatch_size=4",
    "max_eval_examples=64",
    "train.device=cpu",
    "train.duration=6 steps",
    "train.checkpoint_every=2 steps",
    "train.log_every=1",
)


def modern_run(corpus, *more):
    return load_pretrain_config("modern-tiny", [*MODERN, *more], corpus=corpus)


@pytest.mark.parametrize("packed", ["true", "false"])
def test_modern_block_pretrains_and_saves_a_model_that_loads(corpus_directory, tmp_path, packed):
    result = pretrain(modern_run(corpus_directory, f"sampling.packing={packed}"), tmp_path / "run")
    config = load_model(result.model).config
    assert (config.position_embedding, config.recursion_lora_rank) == ("rotary", 2)
    assert Predictor.load(result.model).fill_mask("The baker finds the [MASK].")[0]


def test_modern_block_is_fine_tuned_and_predicts(corpus_directory, tmp_path):
    pretrained = pretrain(modern_run(corpus_directory), tmp_path / "pretrained").model
    table = write_opinions(tmp_path / "train.tsv")
    train = {"duration": "4 steps", "optimizer": "muon", "learning_rate": 0.001, "device": "cpu"}
    values = {
        "model": str(pretrained),
        "data": {"train": table, "dev": table},
        "train": train,
        "max_length": 32,
        "adapters": {"projections": ["query", "gate"]},
    }
    result = finetune(FinetuneRun.parse(values, where="test"), tmp_path / "run")
    assert load_model(result.model).config.recursion_lora_rank == 2
    assert "trust_remote_code=True" in (result.model / "README.md").read_text()


def test_layers_of_a_modern_model_are_analyzed(corpus_directory, tmp_path):
    pytest.importorskip("matplotlib")
    fewer_positions = modern_run(corpus_directory, "model.max_position_embeddings=32")  # than tokens in an example
    model = str(pretrain(fewer_positions, tmp_path / "run").model)
    run = LayersRun(models=(model,), corpus=corpus_directory, out=tmp_path / "layers.png", examples=8)
    found = layers(run).models[model]
    assert len(found.distances) == len(found.angles) == 2
    assert min(*found.distances, *found.angles) > 0


@pytest.mark.parametrize("single", [True, False])
def test_layers_are_analyzed_on_examples_as_in_the_pretraining_of_the_model(
    corpus_directory, tmp_path, monkeypatch, single
):
    settings = [f"sampling.single_segment={single}", f"sampling.pairing={'none' if single else 'sop'}"]
    model = str(
        pretrain(modern_run(corpus_directory, *settings, "sampling.causal_fraction=0.5"), tmp_path / "run").model
    )
    batches, measure = [], layer_analysis.layer_transitions
    monkeypatch.setattr(layer_analysis, "layer_transitions", lambda *each: batches.append(each[1]) or measure(*each))
    layers(LayersRun(models=(model,), corpus=corpus_directory, out=tmp_path / "layers.png", examples=8))
    (batch,) = batches[0].microbatches(0)
    assert bool(batch.token_type_ids.any()) is not single
    assert batch.input_ids.shape[1] <= 32  # as in the pretraining, though the model has more positions
    assert len(batch.labels) < batch.attention_mask.sum() / 2


def test_layers_are_analyzed_without_the_final_norm_and_with_all_their_blocks(corpus_directory):
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": 60, "max_position_embeddings": 32, "intermediate_size": 64}
    config = ModelConfig(**{**sizes, "num_hidden_layers": 2, "inner_group_num": 2, "norm_first": True})
    model = ForPretraining(config)
    settings = SamplingSettings(max_length=32)
    corpus = Corpus.open(corpus_directory, "validation")
    batches = PretrainBatches(corpus, settings, batch_size=8, microbatch_size=8, seed=0)
    found = layer_transitions(model, batches)
    assert len(found.distances) == len(found.angles) == 2
    with torch.no_grad():
        model.encoder.final_norm.weight.mul_(100)
    assert layer_transitions(model, batches) == found


def test_layers_are_not_analyzed_on_a_corpus_of_another_tokenizer(corpus_directory, tmp_path, tiny_tokenizer):
    model = pretrain(modern_run(corpus_directory), tmp_path / "run").model
    (tmp_path / "a.txt").write_text("".join(f"The film {n} was good.\nIt was long.\n\n" for n in range(20)))
    settings = CorpusSettings(validation_fraction=0.5)
    build_corpus([tmp_path / "a.txt"], tiny_tokenizer, settings, tmp_path / "corpus")
    run = LayersRun(models=(str(model),), corpus=tmp_path / "corpus", out=tmp_path / "layers.png", examples=2)
    with pytest.raises(ConfigError, match="was built with another tokenizer than"):
        layers(run)


def test_modern_model_and_tokenizer_are_loaded_by_transformers(corpus_directory, tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    directory = pretrain(modern_run(corpus_directory), tmp_path / "run").model
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory, trust_remote_code=True)
    model = transformers.AutoModelForMaskedLM.from_pretrained(directory, trust_remote_code=True).eval()
    text = "The baker finds the [MASK]"
    found = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer)(text)
    (expected,) = Predictor.load(directory).fill_mask(text)
    assert [each["token_str"] for each in found] == [each.piece.removeprefix("▁") for each in expected]
    assert [each["score"] for each in found] == pytest.approx([each.probability for each in expected], abs=tolerance())


def test_modern_block_resumes_bit_by_bit(corpus_directory, tmp_path):
    constant = ("train.schedule=constant", "train.warmup=0", "train.allow_config_changes=[train.duration]")
    run = modern_run(corpus_directory, *constant)
    pretrain(run, tmp_path / "whole")
    pretrain(modern_run(corpus_directory, *constant, "train.duration=3 steps"), tmp_path / "resumed")
    (tmp_path / "resumed" / "result.json").unlink()
    pretrain(run, tmp_path / "resumed")
    assert losses(tmp_path / "resumed")[-2:] == losses(tmp_path / "whole")[-2:]
    models = [load_model(tmp_path / name / "model") for name in ("resumed", "whole")]
    for ours, expected in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(ours, expected)


def test_structured_initialization_with_rotary_positions_starts_with_the_token_frequencies(corpus_directory, tmp_path):
    found = {
        init: pretrain(
            modern_run(corpus_directory, f"init={init}", "train.duration=1 steps"), tmp_path / init
        ).start.mlm_loss
        for init in ("structured", "random")
    }
    assert found["structured"] < found["random"]
