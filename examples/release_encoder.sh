#!/usr/bin/env bash
# From text to the files of a release: an encoder, its tokenizer and its model card, in int8 for use without torch, and
# as a model directory for fine-tuning. Eight hours of two cores with the recipe `night`; the same command resumes.
# Usage: [RECIPE=night] release_encoder.sh OUT [TEXT…]; without TEXT, Simple English Wikipedia from the Hugging Face hub.
set -euo pipefail
out=${1:?usage: release_encoder.sh OUT [TEXT…]}
shift
text=("${@:-hf:wikimedia/wikipedia/20231101.simple}")
[ -d "$out/tokenizer" ] || litebert tokenizer train "${text[@]}" --out "$out/tokenizer" --vocab-size "${VOCAB_SIZE:-8000}" --input-sentence-size 100000
[ -d "$out/corpus" ] || litebert corpus build "${text[@]}" --tokenizer "$out/tokenizer" --out "$out/corpus" --validation-fraction 0.02
litebert pretrain "${RECIPE:-night}" --corpus "$out/corpus" --out "$out/run" --processes 2
litebert export "$out/run" "$out/int8" --precision int8
du -h "$out/int8/onnx/model_quantized.onnx" "$out/run/model/model.safetensors"
