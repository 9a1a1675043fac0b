import torch

from litebert.model.layers.embeddings import Embeddings


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
