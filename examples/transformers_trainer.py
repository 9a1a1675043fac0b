"""A model of litebert in the Trainer of transformers (extra `hf`, and accelerate).

A model directory of litebert is also one of transformers, so `AutoModelForSequenceClassification.from_pretrained`
works too. This example trains litebert's own classes, in a module that gives the Trainer the loss and the
logits by name.

Usage: transformers_trainer.py MODEL CSV OUT [EPOCHS]
"""

import csv
import sys

import torch
from transformers import Trainer, TrainingArguments

import litebert


class ForTrainer(torch.nn.Module):
    """A model as the Trainer expects it: a dict of outputs, and no config, which the Trainer would change."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids, labels) -> dict[str, torch.Tensor]:
        output = self.model(input_ids, attention_mask, token_type_ids, labels=labels)
        return {"loss": output.loss, "logits": output.logits}


def main(source: str, file: str, out: str, epochs: int = 3) -> None:
    with open(file, newline="", encoding="utf-8") as opened:  # noqa: PTH123
        rows = list(csv.DictReader(opened))
    labels = sorted({row["label"] for row in rows})
    tokenizer = litebert.Tokenizer.load(source)
    model = litebert.load_model(source, as_model="ForSequenceClassification", labels=labels, fresh=["classifier"])

    def collate(batch: list[dict[str, str]]) -> dict[str, torch.Tensor]:
        texts = [row["text"] for row in batch]
        inputs = tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
        return {**inputs, "labels": torch.tensor([labels.index(row["label"]) for row in batch])}

    arguments = TrainingArguments(
        output_dir=f"{out}-trainer",
        num_train_epochs=epochs,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        remove_unused_columns=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )
    trainer = Trainer(ForTrainer(model), arguments, data_collator=collate, train_dataset=rows, eval_dataset=rows)
    trainer.train()
    print(f"loss {trainer.evaluate()['eval_loss']:.3f}")
    litebert.save_model(model.cpu(), out, labels=labels, extra_files=tokenizer.files())


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
