"""A model of litebert in a plain PyTorch loop: classification of the rows of a CSV file.

Usage: plain_pytorch_loop.py MODEL CSV OUT [EPOCHS]
"""

import csv
import sys

import torch
from torch.utils.data import DataLoader

import litebert


def main(source: str, file: str, out: str, epochs: int = 3) -> None:
    with open(file, newline="", encoding="utf-8") as opened:  # noqa: PTH123
        rows = list(csv.DictReader(opened))
    labels = sorted({row["label"] for row in rows})
    tokenizer = litebert.Tokenizer.load(source)
    model = litebert.load_model(source, as_model="ForSequenceClassification", labels=labels, fresh=["classifier"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def collate(batch: list[dict[str, str]]) -> dict[str, torch.Tensor]:
        texts = [row["text"] for row in batch]
        inputs = tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
        return {**inputs, "labels": torch.tensor([labels.index(row["label"]) for row in batch])}

    batches = DataLoader(rows, batch_size=16, shuffle=True, collate_fn=collate)
    model.train()
    for epoch in range(epochs):
        for batch in batches:
            output = model(**batch)
            output.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch + 1}: loss {output.loss.item():.3f}")
    litebert.save_model(model, out, labels=labels, extra_files=tokenizer.files())


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
