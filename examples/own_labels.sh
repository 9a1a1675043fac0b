#!/usr/bin/env bash
# From a labelled CSV (columns: text, label) and a pretrained model to predictions. Usage: own_labels.sh MODEL CSV OUT
set -euo pipefail
model=${1:?usage: own_labels.sh MODEL CSV OUT} labelled=${2:?} out=${3:?}
litebert finetune default --model "$model" --train "$labelled" --out "$out"
litebert evaluate "$out/model" --data "$out/dev.csv"
litebert predict "$out/model" "$labelled" "$out/predictions.csv"
