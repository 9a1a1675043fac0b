import torch

from litebert.model.layers.block import Embeddings


def test_embeddings_are_the_normalised_sum_of_three_tables(tiny_config):
    embeddings = Embeddings(tiny_config)
    ids, types, positions = torch.tensor([[5, 7]]), torch.tensor([[0, 1]]), torch.tensor([[3, 0]])
    summed = embeddings.word.weight[[5, 7]] + embeddings.token_type.weight[[0, 1]] + embeddings.position.weight[[3, 0]]
    assert torch.allclose(embeddings(ids, types, positions)[0], embeddings.norm(summed))


def test_embeddings_share_positions_between_rows(tiny_config):
    embeddings = Embeddings(tiny_config)
    ids = torch.tensor([[5, 7], [7, 5]])
    shared = embeddings(ids, torch.zeros_like(ids), torch.tensor([[0, 1]]))
    assert torch.equal(shared, embeddings(ids, torch.zeros_like(ids), torch.tensor([[0, 1], [0, 1]])))


def test_embeddings_apply_dropout_after_the_norm(tiny_config):
    """Each output is zero or the normalized value scaled by 1 / (1 - p)."""
    embeddings = Embeddings(tiny_config.replace(hidden_dropout_prob=0.5))
    ids = torch.arange(20)[None]
    normalized = embeddings.eval()(ids, torch.zeros_like(ids), ids)
    torch.manual_seed(0)
    dropped = embeddings.train()(ids, torch.zeros_like(ids), ids)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(dropped[kept], 2 * normalized[kept])
