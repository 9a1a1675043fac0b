"""A corpus as a data set of `torch.utils.data`."""

import pytest
import torch

import litebert
from litebert.api.pretrain_dataset import PretrainDataset
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from support.data.corpus_builders import VOCAB_SIZE, make_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dataset") / "corpus"
    make_corpus(directory, [[[6, 5, 7], [8, 4]], [[9, 3, 3]]])
    return directory


def test_items_are_the_examples_of_pretraining(corpus):
    dataset = PretrainDataset(corpus, max_length=24, seed=3)
    batches = PretrainBatches(
        Corpus.open(corpus, "train"), SamplingSettings(max_length=24), batch_size=1, microbatch_size=1, seed=3
    )
    for index in range(len(dataset)):
        (batch,) = batches.microbatches(index)
        item = dataset[index]
        assert torch.equal(item["input_ids"], batch.input_ids[0])
        assert item["labels"][batch.masked_positions].tolist() == batch.labels.tolist()
        assert (item["labels"] != -100).sum() == len(batch.labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"packing": True}, "packing: an item is one example"),
        ({"mlm_probability": "0.3 to 0.15 in 10 steps"}, "mlm_probability: .* changes by training steps"),
        ({"causal_fraction": 0.5}, "causal_fraction: 0.5, expected 0"),
    ],
)
def test_settings_of_batches_and_steps_are_refused(corpus, settings, message):
    with pytest.raises(ConfigError, match=message):
        PretrainDataset(corpus, max_length=24, **settings)


def test_epoch_has_as_many_items_as_examples(corpus):
    dataset = PretrainDataset(corpus, max_length=24)
    assert len(list(dataset.rows())) == len(dataset)
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_collated_items_are_a_batch_of_the_model(corpus):
    dataset = PretrainDataset(corpus, max_length=24)
    batch = dataset.collate([dataset[index] for index in range(len(dataset))])
    config = litebert.preset("tiny").replace(vocab_size=VOCAB_SIZE, hidden_size=16, num_attention_heads=2)
    assert litebert.ForPretraining(config)(**batch).loss > 0
    padding = batch["attention_mask"] == 0
    assert (batch["labels"][padding] == -100).all()
