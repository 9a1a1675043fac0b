#!/usr/bin/env bash
# From your own text to a pretrained encoder, command by command. Usage: own_text.sh OUT TEXT_FILE...
# Environment: TOKENIZER_OPTIONS (none; --keep-accents for text that is not English)
set -euo pipefail
out=${1:?usage: own_text.sh OUT TEXT_FILE...}
shift
litebert tokenizer train "$@" --out "$out/tokenizer" --vocab-size 8000 ${TOKENIZER_OPTIONS:-}
litebert corpus build "$@" --tokenizer "$out/tokenizer" --out "$out/corpus" --validation-fraction 0.02
litebert corpus verify "$out/corpus"
litebert corpus show "$out/corpus" --number 3
litebert pretrain night --corpus "$out/corpus" --out "$out/run" train.duration="60 minutes"
litebert evaluate "$out/run/model" --corpus "$out/corpus"
