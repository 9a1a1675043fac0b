"""The Python API: a preset, a forward pass, a model directory, predictions.

Usage: python_api.py MODEL_DIRECTORY (written by `litebert quickstart` or `litebert pretrain`).
"""

import sys

import torch

import litebert


def main(directory: str) -> None:
    config = litebert.preset("albert-base-v2").replace(num_hidden_layers=2)
    model = litebert.ForPretraining(config, seed=0).eval()
    ids = torch.tensor([[2, 13, 4, 14, 3]])
    attention_mask = torch.ones_like(ids, dtype=torch.bool)
    output = model(ids, attention_mask, torch.zeros_like(ids), masked_positions=torch.tensor([2]))
    print("shape of the logits at the masked position:", tuple(output.mlm_logits.shape))

    predictor = litebert.Predictor.load(directory)
    for candidate in predictor.fill_mask("This function returns a new [MASK].")[0]:
        print(f"{candidate.probability:.3f}  {candidate.word}")


if __name__ == "__main__":
    main(sys.argv[1])
