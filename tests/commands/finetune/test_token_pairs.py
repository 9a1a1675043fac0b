"""Pairs that duplicate-token heads are fitted to."""

import torch

from litebert.commands.finetune.start.token_pairs import pairs_of

LENGTH, ROWS = 24, 40


def pairs(tokenizer, seed=0):
    text = torch.arange(100, 100 + ROWS * (LENGTH - 3) + 5)
    return text, list(pairs_of(text, LENGTH, tokenizer, seed=seed))


def test_every_token_is_once_in_each_segment_beside_the_special_tokens(tiny_tokenizer):
    text, batches = pairs(tiny_tokenizer)
    special = torch.tensor([tiny_tokenizer.cls_id, tiny_tokenizer.sep_id])
    for segment in (0, 1):
        found = torch.cat([ids[segments == segment] for ids, _, segments in batches])
        assert torch.equal(found[~torch.isin(found, special)].sort()[0], text[: ROWS * (LENGTH - 3)])
    for ids, mask, segments in batches:
        assert mask.all()
        assert (ids[:, 0] == tiny_tokenizer.cls_id).all()
        assert (ids[:, -1] == tiny_tokenizer.sep_id).all()
        first = int((segments[0] == 0).sum())
        assert (ids[:, first - 1] == tiny_tokenizer.sep_id).all()
        assert torch.isin(ids, special).sum() == 3 * len(ids)


def test_the_first_piece_has_another_length_in_each_batch_and_seed(tiny_tokenizer):
    lengths = [
        tuple(int((segments[0] == 0).sum()) for _, _, segments in pairs(tiny_tokenizer, seed)[1]) for seed in range(3)
    ]
    assert all(first != again for first, _, again, _ in lengths)
    assert len(set(lengths)) == 3
