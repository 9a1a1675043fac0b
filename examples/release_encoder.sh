#!/usr/bin/env bash
# From text to the files of a release: an encoder with its tokenizer and model card, as a model directory for
# fine-tuning and in int8 for use without torch. The recipe `night` takes eight hours of two cores; a second call resumes.
# Needs: pip install 'litebert[export,datasets]'
# Usage: release_encoder.sh OUT [TEXT…]; without TEXT, Simple English Wikipedia from the Hugging Face hub.
# Environment: RECIPE (night), VOCAB_SIZE (8000), SETTINGS for the pretraining, such as "card.license=mit card.language=[en]"
set -euo pipefail
out=${1:?usage: release_encoder.sh OUT [TEXT…]}
shift
text=("${@:-hf:wikimedia/wikipedia/20231101.simple}")
read -ra settings <<< "${SETTINGS:-}"
python -c 'import onnx, onnxruntime'  # now, not after eight hours
if [ ! -f "$out/tokenizer/SHA256SUMS" ]; then
  rm -rf "$out/tokenizer"
  litebert tokenizer train "${text[@]}" --out "$out/tokenizer" --vocab-size "${VOCAB_SIZE:-8000}" --input-sentence-size 100000
fi
[ -d "$out/corpus" ] || litebert corpus build "${text[@]}" --tokenizer "$out/tokenizer" --out "$out/corpus" --validation-fraction 0.02
litebert pretrain "${RECIPE:-night}" ${settings[@]+"${settings[@]}"} --corpus "$out/corpus" --out "$out/run" --processes 2
litebert export "$out/run" "$out/int8" --precision int8
du -h "$out/int8/onnx/model_quantized.onnx" "$out/run/model/model.safetensors"
