"""A corpus of litebert in other training loops: a DataLoader of PyTorch and a data set of `datasets`.

Usage: corpus_dataset.py CORPUS [STEPS]
"""

import sys

import torch
from torch.utils.data import DataLoader

import litebert


def main(corpus: str, steps: int = 20) -> None:
    dataset = litebert.PretrainDataset(corpus, max_length=64, seed=0)
    batches = DataLoader(dataset, batch_size=8, shuffle=True, collate_fn=dataset.collate)
    tokenizer = litebert.Tokenizer.load(f"{corpus}/tokenizer")
    config = litebert.preset("albert-base-v2").replace(
        vocab_size=tokenizer.vocab_size, num_hidden_layers=2, hidden_size=64, num_attention_heads=2
    )
    model = litebert.ForPretraining(config.replace(intermediate_size=256), seed=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, batch in zip(range(steps), batches, strict=False):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step + 1}: loss {loss.item():.3f}")

    try:
        import datasets
    except ImportError:
        return
    iterable = datasets.IterableDataset.from_generator(dataset.rows)
    print("a row of the data set of `datasets`:", sorted(next(iter(iterable))))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
