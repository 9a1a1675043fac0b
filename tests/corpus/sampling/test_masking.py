from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.example_grid import NUM_DRAWS, ExampleGrid, MaskingDraws
from litebert.corpus.sampling.masking import (
    choose_ngrams,
    find_mask_units,
    mask_tokens,
    ngram_probabilities,
    prediction_budgets,
)
from litebert.corpus.sampling.sampling_settings import LinearSchedule, SamplingSettings
from support.data.corpus_builders import VOCAB_SIZE, vocabulary

CLS, SEP, MASK, FIRST_REGULAR_ID = 2, 3, 4, 100
STARTS = np.arange(VOCAB_SIZE) % 3 != 0
"""Ids divisible by three continue a word."""


def grid_of(segment_lengths, *, seed=0):
    """Random examples of the given lengths of first and second segment; no second, no second [SEP]."""
    rng = np.random.default_rng(seed)
    lengths = np.array([a + b + (3 if b else 2) for a, b in segment_lengths])
    input_ids = np.zeros((len(lengths), int(lengths.max())), np.int64)
    for row, (first, _) in enumerate(segment_lengths):
        input_ids[row, : lengths[row]] = rng.integers(FIRST_REGULAR_ID, VOCAB_SIZE, lengths[row])
        input_ids[row, 0] = CLS
        input_ids[row, [first + 1, lengths[row] - 1]] = SEP
    draws = MaskingDraws(*rng.random((NUM_DRAWS, *input_ids.shape)))
    return ExampleGrid(input_ids, lengths, np.array([first for first, _ in segment_lengths]), draws)


def masked(grid, starts=STARTS, **settings):
    masks = masks_of(grid, starts, **settings)
    return masks.input_ids, masks.predicted


def masks_of(grid, starts=STARTS, **settings):
    examples = SamplingSettings(**settings)
    share = LinearSchedule.parse(examples.mlm_probability).end
    return mask_tokens(grid, vocabulary(word_starts=starts), examples, mlm_probability=share)


def runs(values):
    """Lengths of the runs of True."""
    padded = np.flatnonzero(np.diff(np.concatenate(([0], values.astype(int), [0]))))
    return padded[1::2] - padded[::2]


pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=4)
choices = {
    name: st.sampled_from(get_args(SamplingSettings.model_fields[name].annotation))
    for name in ("mask_unit", "ngram_weights", "replacement_unit", "random_tokens")
}
settings_of = st.fixed_dictionaries(
    {
        **choices,
        "max_ngram": st.integers(1, 4),
        "mlm_probability": st.sampled_from([0.05, 0.15, 0.9]),
        "max_predictions_per_seq": st.sampled_from([None, 1, 5]),
        "ngrams_cross_segments": st.booleans(),
    }
)


@given(pairs, settings_of, st.integers(0, 2**32))
def test_masking_keeps_to_the_budget_and_never_masks_special_tokens_or_padding(lengths, settings, seed):
    grid = grid_of(lengths, seed=seed)
    shown, predicted = masked(grid, **settings)
    most = prediction_budgets(grid.lengths, settings["mlm_probability"], settings["max_predictions_per_seq"])
    assert np.all(predicted.sum(axis=1) <= most)
    assert np.all(grid.input_ids[predicted] >= FIRST_REGULAR_ID)
    assert np.array_equal(shown[~predicted], grid.input_ids[~predicted])


@given(pairs, st.integers(1, 4), st.integers(0, 2**32))
def test_masking_predicts_whole_words(lengths, max_ngram, seed):
    grid = grid_of(lengths, seed=seed)
    _, predicted = masked(grid, max_ngram=max_ngram, mlm_probability=0.5)
    words = find_mask_units(grid, vocabulary(word_starts=STARTS), SamplingSettings())
    for row in range(len(lengths)):
        for word in range(words.lengths.shape[1]):
            inside = predicted[row, grid.maskable[row] & (words.word_of_token[row] == word)]
            assert inside.all() or not inside.any()


@given(pairs, settings_of, st.integers(0, 2**32))
def test_masking_of_an_example_does_not_depend_on_other_examples(lengths, settings, seed):
    grid = grid_of(lengths, seed=seed)
    shown, predicted = masked(grid, **settings)
    for row, length in enumerate(grid.lengths):
        part = slice(row, row + 1)
        draws = MaskingDraws(*(array[part, :length] for array in vars(grid.draws).values()))
        alone = ExampleGrid(grid.input_ids[part, :length], grid.lengths[part], grid.first_lengths[part], draws)
        shown_alone, predicted_alone = masked(alone, **settings)
        assert np.array_equal(shown[part, :length], shown_alone)
        assert np.array_equal(predicted[part, :length], predicted_alone)


def choose_as_google_albert(sizes, reach, order, budget):
    """The loop of google-research/albert over one example."""
    chosen: set[int] = set()
    used = 0
    for word in order:
        for n in range(min(reach[word], len(sizes) - word), 0, -1):
            if used + sum(sizes[word : word + n]) <= budget:
                break
        else:
            continue
        ngram = set(range(word, word + n))
        if chosen.isdisjoint(ngram):
            chosen |= ngram
            used += sum(sizes[word : word + n])
    return sorted(chosen)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=20), st.integers(1, 4), st.integers(1, 20), st.integers(0, 999))
def test_ngrams_are_chosen_as_in_google_albert(sizes, max_ngram, budget, seed):
    rng = np.random.default_rng(seed)
    reach = np.minimum(rng.integers(1, max_ngram + 1, len(sizes)), len(sizes) - np.arange(len(sizes)))
    order = rng.permutation(len(sizes))
    chosen = choose_ngrams(np.array([sizes]), reach[None], order[None], np.array([budget]), max_ngram=max_ngram)
    assert np.flatnonzero(chosen[0] >= 0).tolist() == choose_as_google_albert(sizes, reach, order, budget)


def test_ngrams_of_the_worked_example_in_the_docstring():
    lengths, max_words, order = np.array([[1, 2, 1, 1]]), np.array([[2, 1, 2, 1]]), np.array([[2, 0, 1, 3]])
    assert choose_ngrams(lengths, max_words, order, np.array([3]), max_ngram=3).tolist() == [[0, -1, 2, 2]]


@pytest.mark.parametrize(("across", "limits"), [(False, [2, 2, 5, 5, 5]), (True, [5] * 5)])
def test_ngrams_cross_segments_only_if_the_setting_allows_it(across, limits):
    grid, all_start = grid_of([(2, 3)]), vocabulary(word_starts=np.ones(VOCAB_SIZE, bool))
    assert find_mask_units(grid, all_start, SamplingSettings(ngrams_cross_segments=across)).ngram_limits.tolist() == [
        limits
    ]


@given(pairs, st.integers(0, 2**32))
def test_masked_ngrams_stay_inside_a_segment(lengths, seed):
    grid = grid_of(lengths, seed=seed)
    ngrams = masks_of(grid, max_ngram=4, mlm_probability=0.5, ngram_weights="uniform").ngrams
    for row, (first, _) in enumerate(lengths):
        in_first, in_second = (set(part[part >= 0].tolist()) for part in np.split(ngrams[row], [first + 1]))
        assert in_first.isdisjoint(in_second)


def test_ngrams_are_never_longer_than_max_ngram():
    lengths, order = np.ones((1, 6), int), np.arange(6)[None]
    chosen = choose_ngrams(lengths, np.full((1, 6), 6), order, np.array([6]), max_ngram=2)
    assert chosen.tolist() == [[0, 0, 2, 2, 4, 4]]


def test_mask_units_start_a_word_at_the_start_of_a_segment():
    grid = grid_of([(3, 3)])
    words = find_mask_units(grid, vocabulary(word_starts=np.zeros(VOCAB_SIZE, bool)), SamplingSettings())
    assert words.lengths.tolist() == [[3, 3]]
    assert words.ngram_limits.tolist() == [[1, 2]]


def test_mask_unit_token_makes_every_token_a_unit():
    grid = grid_of([(3, 3)])
    words = find_mask_units(
        grid, vocabulary(word_starts=np.zeros(VOCAB_SIZE, bool)), SamplingSettings(mask_unit="token")
    )
    assert words.lengths.tolist() == [[1] * 6]


@pytest.mark.parametrize(
    ("length", "fraction", "most", "budget"),
    [(512, 0.15, None, 77), (512, 0.15, 20, 20), (128, 0.15, None, 19), (3, 0.15, None, 1), (10, 0.25, None, 2)],
)
def test_prediction_budgets_are_those_of_google_albert(length, fraction, most, budget):
    assert prediction_budgets(np.array([length]), fraction, most).tolist() == [budget]


@pytest.mark.parametrize(("weights", "share"), [("inverse", 2 / 11), ("uniform", 1 / 3), ("reversed", 6 / 11)])
def test_ngram_lengths_have_the_requested_distribution(weights, share):
    """A budget of three tokens is one run of three if the first n-gram is a trigram, and seldom otherwise."""
    grid = grid_of([(198, 0)] * 4000, seed=2)
    all_start = np.ones(VOCAB_SIZE, bool)
    _, predicted = masked(grid, all_start, ngram_weights=weights, max_predictions_per_seq=3)
    assert np.all(predicted.sum(axis=1) == 3)
    assert np.mean([len(runs(row)) == 1 for row in predicted]) == pytest.approx(share, abs=0.03)


def test_masked_words_are_rarely_adjacent_without_ngrams():
    grid = grid_of([(198, 0)] * 500, seed=2)
    _, predicted = masked(grid, np.ones(VOCAB_SIZE, bool), max_ngram=1, max_predictions_per_seq=2)
    assert np.mean([len(runs(row)) == 2 for row in predicted]) > 0.97


def test_replacements_are_80_percent_mask_10_random_10_unchanged():
    grid = grid_of([(250, 250)] * 200, seed=1)
    shown, predicted = masked(grid)
    masks = shown[predicted] == MASK
    kept = shown[predicted] == grid.input_ids[predicted]
    assert masks.mean() == pytest.approx(0.8, abs=0.01)
    assert kept.mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("random_tokens", "least"), [("exclude_special", 5), ("all", 0)])
def test_random_tokens_are_uniform_over_the_allowed_ids(random_tokens, least):
    grid = grid_of([(250, 250)] * 400, seed=1)
    shown, predicted = masked(grid, mask_token_prob=0.0, random_token_prob=1.0, random_tokens=random_tokens)
    counts = np.bincount(shown[predicted], minlength=VOCAB_SIZE)
    assert np.flatnonzero(counts)[0] == least
    assert counts[: VOCAB_SIZE // 2].sum() / counts.sum() == pytest.approx(0.5, abs=0.01)
    assert np.count_nonzero(counts) > 0.99 * (VOCAB_SIZE - least)


def test_replacements_change_nothing_with_probabilities_of_zero():
    grid = grid_of([(20, 20)])
    shown, predicted = masked(grid, mask_token_prob=0.0, random_token_prob=0.0)
    assert predicted.any()
    assert np.array_equal(shown, grid.input_ids)


def group_as_google_albert(example, starts):
    """The candidate groups of google-research/albert: a continuation belongs to the group before it."""
    groups: list[list[int]] = []
    for position, token in enumerate(example):
        if token in (CLS, SEP):
            continue
        if groups and not starts[token]:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


@given(pairs, st.integers(0, 2**32))
def test_mask_units_equal_google_albert_if_they_may_cross_segments(lengths, seed):
    grid = grid_of(lengths, seed=seed)
    words = find_mask_units(grid, vocabulary(word_starts=STARTS), SamplingSettings(ngrams_cross_segments=True))
    for row, length in enumerate(grid.lengths):
        groups = group_as_google_albert(grid.input_ids[row, :length].tolist(), STARTS)
        found = [
            np.flatnonzero(grid.maskable[row] & (words.word_of_token[row] == word)).tolist()
            for word in range(len(groups))
        ]
        assert found == groups
        assert words.lengths[row][: len(groups)].tolist() == [len(group) for group in groups]


@given(pairs, settings_of, st.integers(0, 2**32))
def test_ngrams_are_adjacent_words_up_to_max_ngram(lengths, settings, seed):
    grid = grid_of(lengths, seed=seed)
    masks = masks_of(grid, **settings)
    words = find_mask_units(grid, vocabulary(word_starts=STARTS), SamplingSettings(**settings))
    for row in range(len(lengths)):
        for ngram in np.unique(masks.ngrams[row][masks.ngrams[row] >= 0]):
            inside = np.unique(words.word_of_token[row][masks.ngrams[row] == ngram])
            assert inside[0] == ngram
            assert np.array_equal(inside, np.arange(ngram, ngram + len(inside)))
            assert len(inside) <= settings["max_ngram"]


def test_spanbert_preset_has_geometric_lengths_up_to_ten():
    """SpanBERT, section 3.1: Geo(0.2) of at most 10 words, 3.8 in the mean."""
    probabilities = ngram_probabilities(SamplingSettings.parse({"preset": "spanbert"}, where="test"))
    lengths = np.arange(1, 11)
    assert probabilities == pytest.approx(0.2 * 0.8 ** (lengths - 1) / (1 - 0.8**10))
    assert probabilities @ lengths == pytest.approx(3.8, abs=0.01)


def test_ngram_probabilities_of_the_paper_are_6_3_2_of_11():
    assert ngram_probabilities(SamplingSettings()) == pytest.approx([6 / 11, 3 / 11, 2 / 11])


@pytest.mark.parametrize(("together", "alike"), [("ngram", True), ("token", False)])
def test_replacement_unit_is_a_token_or_an_ngram(together, alike):
    grid = grid_of([(250, 250)] * 20, seed=3)
    masks = masks_of(grid, replacement_unit=together, max_ngram=10, ngram_weights="geometric")
    kinds = np.where(masks.input_ids == MASK, 0, np.where(masks.input_ids == grid.input_ids, 1, 2))
    mixed = 0
    for row in range(20):
        for ngram in np.unique(masks.ngrams[row][masks.ngrams[row] >= 0]):
            mixed += len(set(kinds[row][masks.ngrams[row] == ngram])) > 1
    assert (mixed == 0) == alike


def test_replacement_unit_ngram_keeps_80_10_10():
    grid = grid_of([(250, 250)] * 400, seed=1)
    masks = masks_of(grid, replacement_unit="ngram", max_ngram=10, ngram_weights="geometric")
    shown = masks.input_ids[masks.predicted]
    assert (shown == MASK).mean() == pytest.approx(0.8, abs=0.02)
    assert (shown == grid.input_ids[masks.predicted]).mean() == pytest.approx(0.1, abs=0.02)


def test_masking_with_a_larger_probability_includes_the_smaller_mask():
    """The same draws under a share that changes over a run: the order of the words stays."""
    grid = grid_of([(60, 60)], seed=4)
    all_start = np.ones(VOCAB_SIZE, bool)
    small, large = (masked(grid, all_start, mlm_probability=f, max_ngram=1)[1] for f in (0.15, 0.3))
    assert np.all(large[small])
    assert (small.sum(), large.sum()) == (18, 37)
