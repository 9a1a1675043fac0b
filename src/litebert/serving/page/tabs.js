// The tabs of the page: for each route its fields with an example, the body of a question, and how the answer is shown.

import { bars, heatMap, highlighted, tagged, value } from "./views.js";

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

export const TABS = [
  {
    title: "Fill mask",
    route: "/fill-mask",
    fields: [{ name: "text", label: "Text with [MASK]", rows: 3, example: "The function returns the [MASK] of the list." }],
    body: ({ text }) => ({ inputs: text, top_k: 8 }),
    show: ([masks]) =>
      masks.flatMap((candidates, index) =>
        bars(
          candidates.map(({ piece, probability }) => [piece, probability]),
          masks.length > 1 ? `Mask ${index + 1}` : "",
        ),
      ),
  },
  {
    title: "Classify",
    route: "/predict",
    fields: [
      { name: "text", label: "Text", rows: 3, example: "A warm, funny and wonderfully acted film." },
      { name: "pair", label: "Second text of a pair (optional)", example: "" },
    ],
    body: ({ text, pair }) => ({ inputs: pair ? [text, pair] : text }),
    show: (scores, _, { task }) =>
      task === "regression" ? value(scores[0].label, scores[0].score) : bars(scores.map(({ label, score }) => [label, score])),
  },
  {
    title: "Answer questions",
    route: "/question-answering",
    fields: [
      { name: "question", label: "Question", example: "Who painted the ceiling?" },
      {
        name: "context",
        label: "Text with the answer",
        rows: 6,
        example:
          "The chapel was restored between 1477 and 1480. Its ceiling was painted by Michelangelo from 1508 to 1512, " +
          "and the large fresco behind the altar followed between 1535 and 1541.",
      },
    ],
    body: ({ question, context }) => ({ inputs: { question, context } }),
    show: ([answer], { context }) => highlighted(context, answer),
  },
  {
    title: "Compare",
    route: "/embed",
    fields: [
      {
        name: "sentences",
        label: "Sentences, one a line",
        rows: 6,
        example: "A man is playing a guitar.\nSomeone plays an instrument.\nThe stock market fell today.\nShares lost value.",
      },
    ],
    body: ({ sentences }) => ({ inputs: lines(sentences) }),
    show: (vectors, { sentences }) => heatMap(vectors, lines(sentences)),
  },
  {
    title: "Tag words",
    route: "/token-classification",
    fields: [{ name: "text", label: "Text", rows: 4, example: "Ada Lovelace worked with Charles Babbage in London." }],
    body: ({ text }) => ({ inputs: text }),
    show: ([found], { text }) => tagged(text, found),
  },
  {
    title: "Choose",
    route: "/multiple-choice",
    fields: [
      { name: "text", label: "Text", rows: 4, example: "Tom left his umbrella at home. On the way back it rained." },
      { name: "question", label: "Question (optional)", example: "What happened to Tom?" },
      { name: "options", label: "Options, one a line", rows: 4, example: "He got wet.\nHe bought a car.\nHe stayed dry." },
    ],
    body: ({ text, question, options }) => ({ text, question: question || null, options: lines(options) }),
    show: ({ probabilities }, { options }) => bars(lines(options).map((option, index) => [option, probabilities[index]])),
  },
];
