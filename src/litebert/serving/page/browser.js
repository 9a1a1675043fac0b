// Answers from exported models that run in this browser, through onnxruntime's WebAssembly; used by `litebert export --page`.

import * as ort from "../runtime/ort.wasm.min.mjs";
import { Tokenizer } from "../runtime/tokenizers.min.mjs";

export const needsServer = false;

const folder = new URL("../models/", import.meta.url);
ort.env.wasm.wasmPaths = new URL("../runtime/", import.meta.url).href;
ort.env.wasm.numThreads = 1; // several need headers that plain file servers do not send

const PREDICT = { classification: softmax, multi_label: (logits) => logits.map(sigmoid), regression: (logits) => logits };
const OTHER_ROUTES = {
  fill_mask: "/fill-mask",
  token_classification: "/token-classification",
  multiple_choice: "/multiple-choice",
  extractive_qa: "/question-answering",
  extractive_qa_no_answer: "/question-answering",
};
const ANSWERS = { "/fill-mask": fillMask, "/predict": predict, "/embed": embed };
const loaded = {};
let listed;

export async function information() {
  listed = await json("models.json");
  return { models: listed.map((model) => ({ ...model, routes: routesOf(model) })) };
}

// {body, tokens, milliseconds, inference} of one question to a model.
export async function ask(route, body) {
  if (!ANSWERS[route]) throw new Error("This needs the server: run `litebert serve` with the model.");
  const started = performance.now();
  const model = await load(listed.find(({ name }) => name === (body.model ?? listed[0].name)));
  const cost = { tokens: 0, inference: 0 };
  const answer = await ANSWERS[route](model, body, cost);
  return { body: answer, ...cost, milliseconds: performance.now() - started };
}

function routesOf({ task }) {
  const own = task in PREDICT ? "/predict" : OTHER_ROUTES[task];
  return [...(own ? [own] : []), ...(task === "multiple_choice" ? [] : ["/embed"])];
}

function load(model) {
  loaded[model.name] ??= loadFiles(model).catch((error) => {
    delete loaded[model.name];
    throw error;
  });
  return loaded[model.name];
}

async function loadFiles(model) {
  const path = (file) => `${encodeURIComponent(model.name)}/${file}`;
  const tokenizer = new Tokenizer(await json(path("tokenizer.json")), await json(path("tokenizer_config.json")));
  const session = await ort.InferenceSession.create(new URL(path(model.graph), folder).href, { logSeverityLevel: 3 });
  return { ...model, tokenizer, session };
}

async function json(path) {
  const response = await fetch(new URL(path, folder));
  if (!response.ok) throw new Error(`${path} is missing from the folder of this page.`);
  return response.json();
}

// Outputs of the model for one text or pair, and its token ids.
async function run(model, text, pair, cost) {
  const { ids, token_type_ids } = model.tokenizer.encode(text, { text_pair: pair ?? null, return_token_type_ids: true });
  if (ids.length > model.max_length) {
    throw new Error(`${ids.length} tokens, the model reads ${model.max_length}; shorten the text.`);
  }
  return { ids, ...(await runOnIds(model, ids, token_type_ids, cost)) };
}

async function runOnIds({ session }, ids, token_type_ids, cost) {
  const started = performance.now();
  const tensor = (values) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), [1, ids.length]);
  const attention_mask = tensor(ids.map(() => 1));
  const outputs = await session.run({ input_ids: tensor(ids), attention_mask, token_type_ids: tensor(token_type_ids) });
  cost.tokens += ids.length;
  cost.inference += performance.now() - started;
  return outputs;
}

// Logits of one text or pair; those of a text that is read in windows are the mean of those of its windows.
async function logitsOf(model, text, pair, cost) {
  if (model.long_texts !== "windows") return [...(await run(model, text, pair, cost)).logits.data];
  if (pair != null) throw new Error("This model reads single texts.");
  const { ids } = model.tokenizer.encode(text);
  const [first, tokens, last] = [ids[0], ids.slice(1, -1), ids.at(-1)];
  const each = [];
  for (const [start, end] of spreadWindows(tokens.length, model.max_length - 2)) {
    const window = [first, ...tokens.slice(start, end), last];
    each.push([...(await runOnIds(model, window, window.map(() => 0), cost)).logits.data]);
  }
  return each[0].map((_, index) => each.reduce((sum, logits) => sum + logits[index], 0) / each.length);
}

// The windows of `litebert.tasks.text_sequences`: several are full and at equal distances.
function spreadWindows(length, budget) {
  const count = Math.max(1, Math.ceil(length / budget));
  if (count === 1) return [[0, length]];
  const starts = Array.from({ length: count }, (_, index) => Math.floor((index * (length - budget)) / (count - 1)));
  return starts.map((start) => [start, start + budget]);
}

async function fillMask(model, { inputs, top_k }, cost) {
  const mask = model.tokenizer.token_to_id("[MASK]");
  const { ids, logits } = await run(model, inputs, null, cost);
  if (!ids.includes(mask)) throw new Error("The text has no [MASK].");
  const size = logits.dims[2];
  const positions = ids.flatMap((id, position) => (id === mask ? [position] : []));
  return [positions.map((at) => candidates(model.tokenizer, [...logits.data.subarray(at * size, (at + 1) * size)], top_k))];
}

function candidates(tokenizer, logits, count) {
  const probabilities = softmax(logits);
  const best = [...probabilities.keys()].sort((one, other) => probabilities[other] - probabilities[one]).slice(0, count);
  return best.map((id) => ({ piece: tokenizer.id_to_token(id), probability: probabilities[id] }));
}

async function predict(model, { inputs }, cost) {
  const scores = PREDICT[model.task](await logitsOf(model, ...[inputs, null].flat().slice(0, 2), cost));
  const labelled = scores.map((score, index) => ({ label: model.labels[index] ?? "score", score }));
  return labelled.sort((one, other) => other.score - one.score);
}

async function embed(model, { inputs }, cost) {
  const vectors = [];
  for (const text of inputs) {
    const vector = [...(await run(model, text, null, cost)).sentence_embedding.data];
    const norm = Math.hypot(...vector);
    vectors.push(vector.map((each) => each / norm));
  }
  return vectors;
}

function softmax(logits) {
  const largest = logits.reduce((one, other) => Math.max(one, other));
  const exponentials = logits.map((logit) => Math.exp(logit - largest));
  const sum = exponentials.reduce((one, other) => one + other);
  return exponentials.map((each) => each / sum);
}

function sigmoid(logit) {
  return 1 / (1 + Math.exp(-logit));
}
