// Answers as elements of the page. Texts become text nodes, never HTML.

const TAG_COLORS = ["#2f8f4e", "#b8562b", "#7a4fc0", "#b53a78", "#1f8a94", "#8a7a1f"];

export function element(name, content = [], attributes = {}) {
  const made = document.createElement(name);
  for (const [key, given] of Object.entries(attributes)) made.setAttribute(key, given);
  made.append(...[content].flat());
  return made;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A bar for each [name, share].
export function bars(rows, title = "") {
  const list = element("dl", [], { class: "bars" });
  for (const [name, share] of rows) {
    const bar = element("span", [], { class: "bar" });
    bar.style.width = `${100 * share}%`;
    list.append(
      element("dt", name),
      element("dd", element("div", bar, { class: "track", "aria-hidden": "true" })),
      element("dd", percent(share), { class: "number" }),
    );
  }
  return title ? [element("h2", title), list] : [list];
}

export function value(label, score) {
  return [element("p", score.toFixed(3), { class: "value" }), element("small", label)];
}

// The context with the answer marked.
export function highlighted(context, answer) {
  const confidence = element("p", element("small", `probability ${percent(answer.probability)}`));
  if (!answer.text) return [element("p", "The text has no answer to this question."), confidence];
  // Positions count characters, as Python does; JavaScript counts UTF-16 units.
  const characters = [...context];
  const part = (start, end) => characters.slice(start, end).join("");
  const marked = element("mark", part(answer.start, answer.end));
  return [
    element("p", answer.text, { class: "value" }),
    confidence,
    element("p", [part(0, answer.start), marked, part(answer.end)], { class: "text" }),
  ];
}

// Cosines of all pairs of unit vectors; colours run from the lowest one to 1.
export function heatMap(vectors, names) {
  const numbered = names.map((name, index) => `${index + 1}`);
  const cosines = vectors.map((one) => vectors.map((other) => one.reduce((sum, each, index) => sum + each * other[index], 0)));
  const lowest = Math.min(0.99, ...cosines.flat());
  const head = element("tr", [element("th", ""), ...numbered.map((number) => element("th", number, { scope: "col" }))]);
  const rows = cosines.map((ofOne, row) => {
    const cells = ofOne.map((cosine) => {
      const cell = element("td", cosine.toFixed(2));
      const share = (60 * (cosine - lowest)) / (1 - lowest);
      cell.style.background = `color-mix(in srgb, var(--accent) ${share.toFixed(0)}%, transparent)`;
      return cell;
    });
    return element("tr", [element("th", `${numbered[row]}  ${names[row]}`, { scope: "row" }), ...cells]);
  });
  const table = element("table", [element("thead", head), element("tbody", rows)]);
  return [element("div", table, { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cosines" })];
}

// The text with its entities coloured by their label; words with labels where there are no entities.
export function tagged(text, { words, entities }) {
  const spans = entities.length ? entities : words.filter(({ label }) => label !== "O");
  if (!spans.length) return [element("p", "No word has a label."), element("p", text, { class: "text" })];
  const labels = [...new Set(spans.map(({ label }) => label))].sort();
  const characters = [...text];
  const parts = [];
  let end = 0;
  for (const span of spans) {
    const label = element("span", span.label, { class: "label" });
    const mark = element("mark", [characters.slice(span.start, span.end).join(""), label], {
      class: "tag",
      title: `probability ${span.probability.toFixed(3)}`,
    });
    mark.style.setProperty("--tag", TAG_COLORS[labels.indexOf(span.label) % TAG_COLORS.length]);
    parts.push(characters.slice(end, span.start).join(""), mark);
    end = span.end;
  }
  return [element("p", [...parts, characters.slice(end).join("")], { class: "text" })];
}
