#!/usr/bin/env bash
# From text to the files of a release: an encoder with its tokenizer and model card, as a model directory for
# fine-tuning and in int8 for use without torch. The recipe `night` takes 80 minutes to 3 hours of two cores; a second call resumes.
# Needs: pip install 'litebert[export,datasets]'
# Usage: release_encoder.sh OUT [SETTING=VALUE…] [-- TEXT…]
#   SETTING=VALUE: of the pretraining (of both recipes, if there are two), such as card.license=mit 'card.language=[en]' 'card.intended_uses=Short texts.'
#   TEXT: files, directories or hf:DATASET; without, Simple English Wikipedia from the Hugging Face hub
# Environment: RECIPE (night), THEN (none; night-unshared: a second recipe, from the weights of the first), VOCAB_SIZE (8000),
#   TOKENIZER_OPTIONS (none; --keep-accents for text that is not English)
set -euo pipefail
out=${1:?usage: release_encoder.sh OUT [SETTING=VALUE…] [-- TEXT…]}
shift
settings=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  settings+=("$1")
  shift
done
[ $# -eq 0 ] || shift
text=("${@:-hf:wikimedia/wikipedia/20231101.simple}")
vocab_size=${VOCAB_SIZE:-8000}
packages=onnx,onnxruntime
case "${text[*]}" in *hf:*) packages+=,datasets ;; esac
python=$(dirname "$(command -v litebert)")/python
if ! "$python" -c "import $packages" 2> /dev/null; then  # now, not after hours
  echo "a package is missing: pip install 'litebert[export,datasets]'" >&2
  exit 2
fi
inputs=$(printf '%s\n' "vocabulary of $vocab_size" ${TOKENIZER_OPTIONS:+"$TOKENIZER_OPTIONS"} "${text[@]}")
if [ -f "$out/inputs" ] && [ "$(cat "$out/inputs")" != "$inputs" ]; then
  echo "$out: was begun with other inputs, listed in $out/inputs; give the same, or another OUT" >&2
  exit 2
fi
mkdir -p "$out"
echo "$inputs" > "$out/inputs"
if [ ! -f "$out/tokenizer/SHA256SUMS" ]; then
  rm -rf "$out/tokenizer"
  litebert tokenizer train "${text[@]}" --out "$out/tokenizer" --vocab-size "$vocab_size" --input-sentence-size 100000 ${TOKENIZER_OPTIONS:-}
fi
[ -d "$out/corpus" ] || litebert corpus build "${text[@]}" --tokenizer "$out/tokenizer" --out "$out/corpus" --validation-fraction 0.02
litebert pretrain "${RECIPE:-night}" ${settings[@]+"${settings[@]}"} --corpus "$out/corpus" --out "$out/run" --processes 2
run=$out/run
if [ -n "${THEN:-}" ]; then
  litebert pretrain "$THEN" ${settings[@]+"${settings[@]}"} --corpus "$out/corpus" --out "$out/then" --processes 2 init_checkpoint="$run"
  run=$out/then
fi
litebert export "$run" "$out/int8" --precision int8
du -h "$out/int8/onnx/model_quantized.onnx" "$run/model/model.safetensors"
