#!/usr/bin/env bash
# From a labelled CSV (columns: text, label) and a pretrained model to a classifier, its scores on other labelled rows,
# and predictions. Usage: own_labels.sh MODEL TRAIN_CSV TEST_CSV OUT
set -euo pipefail
usage='usage: own_labels.sh MODEL TRAIN_CSV TEST_CSV OUT'
model=${1:?$usage} train=${2:?$usage} test=${3:?$usage} out=${4:?$usage}
litebert finetune default --model "$model" --train "$train" --out "$out"
litebert evaluate "$out" --data "$test"
litebert predict "$out" "$test" "$out/predictions.csv"
