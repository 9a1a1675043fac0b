"""The laws of drawing examples hold for any script: text without spaces, right to left, marks, emoji."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from litebert.corpus.format.shards import Corpus, Shard, ShardEntry, Vocabulary, write_description
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import Pairing, SamplingSettings
from litebert.manifest import write_manifest
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from support.data.corpus_builders import edges

PAD, UNKNOWN, CLS, SEP, MASK = range(5)
SPECIAL = {PAD, CLS, SEP, MASK}
SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "我们今天去公园散步，然后回家吃饭。",
    "吾輩は猫である。名前はまだ無い。",
    "ذهب الولد إلى المدرسة في الصباح الباكر.",
    "Мама мыла раму, а потом ушла.",
    "नमस्ते दुनिया, आप कैसे हैं?",
    "สวัสดีชาวโลก วันนี้อากาศดี",
    "😀😀🎉 👩‍👩‍👧 🇩🇪 🤷🏽‍♀️",
    "déjà-vu naïve Ångström 50% 1,000 £5",
]
documents = st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6), min_size=1, max_size=8)
example_settings = st.builds(
    SamplingSettings,
    max_length=st.sampled_from([8, 24, 64]),
    pairing=st.sampled_from(["sop", "nsp", "none"]),
    single_sentence_policy=st.sampled_from(["no_label", "random_document"]),
    mask_unit=st.sampled_from(["whole_word", "token"]),
    max_ngram=st.integers(1, 4),
    packing=st.booleans(),
    ngrams_cross_segments=st.booleans(),
    mlm_probability=st.sampled_from([0.15, 0.5]),
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    trained = TokenizerSettings(vocab_size=150, character_coverage=1.0)
    return train_tokenizer(SENTENCES * 3, trained, tmp_path_factory.mktemp("scripts") / "tokenizer")


def corpus_of(directory: Path, texts: list[list[str]], tokenizer: Tokenizer) -> Corpus:
    """One shard of these documents."""
    ids = [tokenizer.encode(sentence) for document in texts for sentence in document]
    (directory / "train/00000").mkdir(parents=True)
    flat = np.array([token for sentence in ids for token in sentence], np.uint16)
    Shard(flat, edges([len(s) for s in ids]), edges([len(d) for d in texts])).save(directory / "train/00000")
    entries = [ShardEntry("train/00000", len(texts), len(ids), len(flat))]
    vocab = Vocabulary.of(tokenizer)
    write_description(
        directory, vocab, {"train": entries, "validation": []}, fingerprint="0f", tokenizer_fingerprint="f0"
    )
    write_manifest(directory)
    return Corpus.open(directory)


def restore_labels(batch: PretrainBatch) -> list[int]:
    """The ids of all rows, as they were before masking."""
    restored = batch.input_ids.flatten().clone()
    restored[batch.masked_positions] = batch.labels
    return restored.tolist()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents, example_settings, st.integers(0, 99))
def test_batches_obey_their_laws_in_every_script(tokenizer, texts, chosen, seed):
    assume(len(texts) > 1 or chosen.pairing != "nsp")
    with tempfile.TemporaryDirectory() as directory:
        corpus = corpus_of(Path(directory), texts, tokenizer)
        batches = PretrainBatches(corpus, chosen, batch_size=6, microbatch_size=4, seed=seed)
        drawn = list(batches.one_epoch())
        assert sum(batch.num_examples for batch in drawn) == batches.epoch_size()
        for batch in drawn:
            restored = restore_labels(batch)
            assert not SPECIAL & set(batch.labels.tolist())
            assert restored.count(CLS) == batch.num_examples
            assert MASK not in restored
            assert batch.input_ids.shape[1] <= chosen.max_length
            # The budget of an example is rounded, and is at least one token; a single long word may not fit into it.
            most = batch.num_tokens * chosen.mlm_probability + batch.num_examples
            assert len(batch.labels) <= most


@pytest.mark.parametrize("pairing", Pairing.__args__)
def test_batches_of_text_that_fits_contain_all_of_it(tokenizer, tmp_path, pairing):
    corpus = corpus_of(tmp_path, [[sentence] * 2 for sentence in SENTENCES], tokenizer)
    chosen = SamplingSettings(max_length=512, pairing=pairing, short_seq_prob=0)
    batches = PretrainBatches(corpus, chosen, batch_size=9, microbatch_size=9, seed=1)
    found = []
    for batch in batches.one_epoch():
        restored = batch.input_ids.flatten().clone()
        restored[batch.masked_positions] = batch.labels
        found += [
            token for token in restored.tolist() if token not in (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id)
        ]
    expected = [token for sentence in SENTENCES for token in tokenizer.encode(sentence) * 2]
    assert sorted(found) == sorted(expected)
