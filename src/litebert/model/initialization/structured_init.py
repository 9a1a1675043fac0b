"""Structured initialization of a model for pretraining, from corpus statistics. The ALBERT paper has no such thing.

A small randomly initialized model predicts by token frequency alone for its first millions of tokens. Here token
embeddings begin as co-occurrence vectors and attention heads with useful patterns. Only values change: the parameters,
the function and the checkpoint format are those of any model. docs/decisions/0005-structured-initialization.md says
where it was shown to help and where not.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.initialization.attention_init import init_query_key_
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces
from litebert.model.initialization.embeddings_init import init_position_embeddings_, init_token_embeddings_
from litebert.model.models import ForPretraining


@torch.no_grad()
def structured_init_(
    model: ForPretraining, vectors: Float[Tensor, "V D"], frequencies: Float[Tensor, " V"], *, seed: int
) -> None:
    """Initialize a randomly initialized `model`, in place.

    Args:
        model: keeps its random weights wherever nothing is set.
        vectors: of each token, columns in descending order of explained variance; superfluous columns are ignored.
        frequencies: of each token; the MLM bias becomes the log of the add-one smoothed unigram distribution.
        seed: of the random rotation of the vectors.
    """
    encoder, subspaces = model.encoder, EmbeddingSubspaces.of(model.encoder.config)
    smoothed = frequencies + 1
    model.mlm.bias.copy_((smoothed / smoothed.sum()).log())
    init_token_embeddings_(encoder.embeddings.word.weight, vectors, subspaces, seed=seed)
    init_position_embeddings_(encoder.embeddings, subspaces)
    init_query_key_(encoder, subspaces)
