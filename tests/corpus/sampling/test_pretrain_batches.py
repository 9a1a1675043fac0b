import hashlib
import json
from collections import Counter

import numpy as np
import pytest
import torch

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches, vocabulary_for
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from support.data.corpus_builders import VOCAB_SIZE, make_corpus, vocabulary

SETTINGS = SamplingSettings(max_length=40, short_seq_prob=1 / 3)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    shards = [[rng.integers(1, 12, rng.integers(1, 14)).tolist() for _ in range(60)] for _ in range(2)]
    return make_corpus(tmp_path_factory.mktemp("corpus"), shards)


def source(corpus, settings=SETTINGS, *, batch_size=12, microbatch_size=5, seed=7, **more):
    return PretrainBatches(corpus, settings, batch_size=batch_size, microbatch_size=microbatch_size, seed=seed, **more)


def rows(batches):
    """The examples of batches as plain values, without padding and layout."""
    found = []
    for batch in batches:
        size, width = batch.input_ids.shape
        starts = range(0, size * width, width) if batch.sequence_starts is None else batch.sequence_starts.tolist()
        real, ids, types = (t.flatten() for t in (batch.attention_mask, batch.input_ids, batch.token_type_ids))
        answers = dict(zip(batch.masked_positions.tolist(), batch.labels.tolist(), strict=True))
        for start, label in zip(starts, batch.sentence_pair_labels.tolist(), strict=True):
            end = next((s for s in starts if s > start), size * width)
            end = start + int(real[start : min(end, start - start % width + width)].sum())
            predicted = tuple((p - start, token) for p, token in answers.items() if start <= p < end)
            found.append((tuple(ids[start:end].tolist()), tuple(types[start:end].tolist()), predicted, label))
    return found


def test_batch_has_the_shapes_and_dtypes_of_model_inputs(corpus):
    batches = source(corpus).microbatches(0)
    assert [batch.num_examples for batch in batches] == [5, 5, 2]
    for batch in batches:
        shape = batch.input_ids.shape
        assert shape[1] % 8 == 0
        assert batch.attention_mask.shape == batch.token_type_ids.shape == shape
        assert batch.input_ids.dtype == batch.token_type_ids.dtype == batch.labels.dtype == torch.int64
        assert batch.sentence_pair_labels.dtype == batch.masked_positions.dtype == torch.int64
        assert batch.attention_mask.dtype == torch.bool
        assert batch.num_tokens == int(batch.attention_mask.sum())
        assert len(batch.sentence_pair_labels) == batch.num_examples
        assert len(batch.labels) == len(batch.masked_positions) > 0
        assert bool(batch.attention_mask.flatten()[batch.masked_positions].all())


def test_batch_has_special_tokens_around_segments(corpus):
    for batch in source(corpus).microbatches(3):
        assert batch.input_ids[:, 0].tolist() == [2] * batch.num_examples
        assert batch.input_ids[~batch.attention_mask].unique().tolist() in ([], [0])
        for row in range(batch.num_examples):
            real = batch.input_ids[row][batch.attention_mask[row]]
            types = batch.token_type_ids[row][batch.attention_mask[row]].tolist()
            separators = (real == 3).nonzero().flatten().tolist()
            assert separators[-1] == len(real) - 1
            assert types == [0] * (separators[0] + 1) + [1] * (len(real) - separators[0] - 1)


def test_batch_with_labels_restored_is_the_text(corpus):
    for batch in source(corpus).microbatches(5):
        ids = batch.input_ids.flatten().clone()
        ids[batch.masked_positions] = batch.labels
        text = ids.reshape(batch.input_ids.shape)[batch.attention_mask]
        assert not bool((text == 4).any())
        assert bool((text != 1).all())


def test_batch_width_never_exceeds_max_length(corpus):
    settings = SETTINGS.replace(max_length=37)
    assert max(batch.input_ids.shape[1] for batch in source(corpus, settings).microbatches(0)) == 37


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("world_size", [2, 3, 4, 12])
def test_ranks_share_the_batch_of_a_single_process(corpus, world_size, grouped):
    settings = SETTINGS.replace(group_by_length=grouped)
    whole = rows(source(corpus, settings).microbatches(9))
    parts = [
        rows(source(corpus, settings, rank=rank, world_size=world_size).microbatches(9)) for rank in range(world_size)
    ]
    assert Counter(row for part in parts for row in part) == Counter(whole)
    assert {len(part) for part in parts} == {12 // world_size}


@pytest.mark.parametrize("world_size", [2, 3])
def test_no_rank_has_the_longest_examples_of_every_batch(corpus, world_size):
    sources = [source(corpus, rank=rank, world_size=world_size) for rank in range(world_size)]
    tokens = [[sum(batch.num_tokens for batch in each.microbatches(step)) for each in sources] for step in range(9)]
    assert len({max(range(world_size), key=counts.__getitem__) for counts in tokens}) > 1


@pytest.mark.parametrize("change", [{"microbatch_size": 1}, {"microbatch_size": 100}])
def test_microbatch_size_changes_no_example(corpus, change):
    assert Counter(rows(source(corpus, **change).microbatches(2))) == Counter(rows(source(corpus).microbatches(2)))


def test_group_by_length_changes_no_example_and_reduces_padding(corpus):
    grouped, mixed = (
        source(corpus, SETTINGS.replace(group_by_length=on), batch_size=60).microbatches(2) for on in (True, False)
    )
    assert Counter(rows(grouped)) == Counter(rows(mixed))
    assert sum(batch.input_ids.numel() for batch in grouped) < sum(batch.input_ids.numel() for batch in mixed)


@pytest.mark.parametrize("world_size", [1, 3])
def test_packing_changes_no_example(corpus, world_size):
    packed = SETTINGS.replace(packing=True)
    parts = [
        batch
        for rank in range(world_size)
        for batch in source(corpus, packed, rank=rank, world_size=world_size, batch_size=60).microbatches(4)
    ]
    assert Counter(rows(parts)) == Counter(rows(source(corpus, batch_size=60).microbatches(4)))
    assert all(len(batch.input_ids) <= 5 for batch in parts)
    assert sum(batch.num_examples for batch in parts) == 60
    assert any(batch.sequence_starts is not None for batch in parts)


def test_packed_examples_start_at_sequence_starts(corpus):
    for batch in source(corpus, SETTINGS.replace(packing=True), batch_size=60).microbatches(0):
        if batch.sequence_starts is not None:
            assert batch.input_ids.flatten()[batch.sequence_starts].tolist() == [2] * batch.num_examples
            assert int((batch.input_ids == 2).sum()) == batch.num_examples
            assert bool((batch.sequence_starts.diff() > 0).all())
            assert bool((batch.masked_positions.diff() > 0).all())


def test_packed_rows_have_little_padding(corpus):
    """Of a batch that is large enough, only the last row has much padding."""
    batches = source(corpus, SETTINGS.replace(packing=True), batch_size=200, microbatch_size=200).microbatches(0)
    assert sum(batch.num_tokens for batch in batches) / sum(batch.input_ids.numel() for batch in batches) > 0.95


def test_packed_batches_have_few_numbers_of_rows(corpus):
    batches = source(corpus, SETTINGS.replace(packing=True), batch_size=200, microbatch_size=64)
    steps = [[len(batch.input_ids) for batch in batches.microbatches(step)] for step in range(12)]
    assert all(rows == 64 for counts in steps for rows in counts[:-1])
    step = 1 << max(0, min(map(sum, steps)).bit_length() - 6)
    assert step > 1
    assert all(sum(counts) % step == 0 for counts in steps)


def test_packed_batch_of_single_rows_has_no_sequence_starts(corpus):
    packed = source(corpus, SETTINGS.replace(packing=True), batch_size=1).microbatches(0)
    assert [batch.sequence_starts for batch in packed] == [None]


def test_mlm_probability_schedule_changes_the_masked_share(corpus):
    falling = source(corpus, SETTINGS.replace(mlm_probability="0.5 to 0.15 in 10 steps"), batch_size=60)

    def share(batches):
        return sum(len(batch.labels) for batch in batches) / sum(batch.num_tokens for batch in batches)

    shares = [share(falling.microbatches(step)) for step in (0, 5, 10)]
    assert shares == pytest.approx([0.5, 0.325, 0.15], abs=0.03)
    assert rows(falling.microbatches(10)) == rows(source(corpus, batch_size=60).microbatches(10))
    assert list(rows(falling.one_epoch())) == list(rows(source(corpus, batch_size=60).one_epoch()))


def test_example_of_an_epoch_is_masked_with_the_final_probability(corpus):
    falling, constant = (
        source(corpus, SETTINGS.replace(mlm_probability=given)) for given in ("0.5 to 0.1 in 100 steps", 0.1)
    )
    assert rows([falling.in_epoch(0)]) == rows([constant.in_epoch(0)])
    assert rows(falling.one_epoch()) == rows(constant.one_epoch())


def test_batches_of_a_late_step_do_not_depend_on_earlier_steps(corpus):
    late = 1_000_000
    replayed = source(corpus)
    for step in range(late - 2, late):
        replayed.microbatches(step)
    assert rows(source(corpus).microbatches(late)) == rows(replayed.microbatches(late))


@pytest.mark.parametrize("step", [0, 7, 1_000_000])
def test_batches_of_a_step_read_only_the_sentences_of_its_examples(corpus, monkeypatch, step):
    reads = []
    read = type(corpus).read
    monkeypatch.setattr(type(corpus), "read", lambda self, first, end: reads.append(first) or read(self, first, end))
    source(corpus).microbatches(step)
    assert len(reads) == 12


def test_batches_cover_the_epochs_without_gap_or_repetition(corpus):
    batches = source(corpus, batch_size=10)
    sizes = np.diff(batches.mixture.parts[0].source(0).stream.cycle_offsets)
    drawn = [row for step in range(int(sizes[:2].sum()) // 10 + 1) for row in rows(batches.microbatches(step))]
    epochs = [row for number in range(3) for row in rows(batches.one_epoch(number))]
    assert not Counter(drawn) - Counter(epochs)
    assert not Counter(rows(batches.one_epoch(0))) - Counter(drawn)


@pytest.mark.parametrize("world_size", [1, 5])
def test_pretrain_epoch_has_each_example_once_over_all_ranks(corpus, world_size):
    parts = [rows(source(corpus, rank=rank, world_size=world_size).one_epoch()) for rank in range(world_size)]
    assert sum(map(len, parts)) == source(corpus).epoch_size()
    assert Counter(row for part in parts for row in part) == Counter(rows(source(corpus).one_epoch()))


def test_masks_change_from_epoch_to_epoch_without_dupe_factor(corpus):
    settings = SETTINGS.replace(short_seq_prob=0)
    first, second = (rows(source(corpus, settings).one_epoch(number)) for number in (0, 1))
    assert Counter(first) != Counter(second)
    static = settings.replace(dupe_factor=1)
    first, second = (rows(source(corpus, static).one_epoch(number)) for number in (0, 1))
    assert first != second
    assert Counter(first) == Counter(second)


@pytest.mark.parametrize("packed", [False, True])
def test_batch_to_device_moves_all_tensors(corpus, packed):
    batch = source(corpus, SETTINGS.replace(packing=packed), batch_size=60).microbatches(0)[-1]
    moved = batch.to("meta")
    assert moved.input_ids.device.type == moved.sentence_pair_labels.device.type == "meta"
    assert moved.num_tokens == batch.num_tokens
    assert (moved.sequence_starts is not None) == packed


def test_mask_unit_whole_word_google_uses_the_tokenizer_of_the_corpus(corpus_directory, tokenizer):
    real = Corpus.open(corpus_directory)
    original = vocabulary_for(real, SamplingSettings(mask_unit="whole_word_google"))
    assert np.array_equal(original.word_starts, tokenizer.google_word_starts)
    assert vocabulary_for(real, SamplingSettings()) is real.vocabulary


CHANGES = {
    "seed": {"seed": 8},
    "batch size": {"batch_size": 13},
    "settings": {"settings": SETTINGS.replace(mlm_probability=0.2)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_batches_fingerprint_depends_on_the_examples(corpus, change):
    assert source(corpus, **CHANGES[change]).fingerprint != source(corpus).fingerprint


@pytest.mark.parametrize("change", [{"microbatch_size": 3}, {"rank": 1, "world_size": 2}])
def test_batches_fingerprint_does_not_depend_on_ranks_and_microbatches(corpus, change):
    assert source(corpus, **change).fingerprint == source(corpus).fingerprint


class LaterSettings(SamplingSettings):
    """Those of a later version, with one setting more."""

    later: int = 0


@pytest.mark.parametrize(("value", "is_same"), [(0, True), (1, False)])
def test_setting_of_a_later_version_is_in_the_fingerprint_unless_it_has_its_default(corpus, value, is_same):
    later = LaterSettings(**SETTINGS.to_dict(), later=value)
    assert (source(corpus, later).fingerprint == source(corpus).fingerprint) is is_same


def test_digested_settings_are_those_of_the_first_checkpoints():
    digested = json.dumps(SamplingSettings().digested(), sort_keys=True)
    assert hashlib.sha256(digested.encode()).hexdigest()[:16] == "91a54956010acefc"


def test_batches_examples_per_epoch_is_the_mean_of_a_cycle(corpus):
    batches = source(corpus)
    assert batches.examples_per_epoch == round(batches.mixture.parts[0].source(0).stream.cycle_offsets[-1] / 3)


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"microbatch_size": 0}, "microbatch_size"), ({"batch_size": 3, "world_size": 4}, "batch_size")],
)
def test_batches_refuse_invalid_sizes(corpus, change, problem):
    with pytest.raises(ConfigError, match=problem):
        source(corpus, **change)


EVERY_SETTING = {
    "max_length": 24,
    "short_seq_prob": 0,
    "pairing": "nsp",
    "single_sentence_policy": "random_document",
    "group_by_length": False,
    "packing": True,
    "mask_unit": "token",
    "max_ngram": 1,
    "ngram_weights": "reversed",
    "mlm_probability": 0.3,
    "max_predictions_per_seq": 2,
    "ngrams_cross_segments": True,
    "mask_token_prob": 0.5,
    "random_token_prob": 0.0,
    "replacement_unit": "ngram",
    "random_tokens": "all",
}
ELSEWHERE = {"dupe_factor", "short_seq_schedule", "causal_fraction", "single_segment"}
"""Their effect shows in later epochs, see test_stream.py, in some steps, see test_causal_batches.py, or with another
pairing, see test_pairing.py."""


def test_sampling_settings_are_all_tested():
    assert {*EVERY_SETTING, *ELSEWHERE} == set(SamplingSettings.model_fields)


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A corpus, and the rows of its first epoch; continuation tokens make whole words matter."""
    rng = np.random.default_rng(1)
    shards = [[rng.integers(1, 12, rng.integers(1, 14)).tolist() for _ in range(100)]]
    vocab = vocabulary(word_starts=np.arange(VOCAB_SIZE) % 2 == 0)
    corpus = make_corpus(tmp_path_factory.mktemp("settings") / "corpus", shards, vocab=vocab)
    return corpus, list(rows(source(corpus, batch_size=50).one_epoch()))


@pytest.mark.parametrize("setting", EVERY_SETTING)
def test_sampling_settings_all_have_an_effect(setting, usual):
    """Changing it changes what is drawn in the first epoch."""
    corpus, drawn = usual
    changed = SETTINGS.replace(**{setting: EVERY_SETTING[setting]})
    assert list(rows(source(corpus, changed, batch_size=50).one_epoch())) != drawn
