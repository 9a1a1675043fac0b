// The page: one tab for each route that a model has; it asks the model and shows the answer.

import { TABS } from "./tabs.js";
import { element } from "./views.js";

const backend = await import(document.body.dataset.backend);
const find = (id) => document.getElementById(id);
let models = [];
let current;
let asked = 0;

async function start() {
  let information;
  try {
    information = await backend.information();
  } catch (error) {
    find("summary").textContent = error.status === 401 ? "This server needs a key." : error.message;
    find("key-form").hidden = error.status !== 401;
    return;
  }
  find("key-form").hidden = true;
  find("footer").hidden = !backend.needsServer;
  models = information.models;
  find("summary").textContent = models.map(({ name, task }) => `${name}: ${task.replaceAll("_", " ")}`).join(" · ");
  const tabs = TABS.filter(({ route }) => modelsWith(route).length);
  find("tabs").replaceChildren(...tabs.map(tabButton));
  select(tabs[0]);
}

const modelsWith = (route) => models.filter(({ routes }) => routes.includes(route));

function tabButton(tab) {
  const button = element("button", tab.title, { type: "button", role: "tab", "aria-controls": "panel" });
  button.addEventListener("click", () => select(tab));
  tab.button = button;
  return button;
}

// Arrow keys move between tabs, as in the ARIA pattern for tabs.
find("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const buttons = [...find("tabs").children];
  const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
  next.focus();
  next.click();
});

function select(tab) {
  current = tab;
  asked += 1;
  for (const button of find("tabs").children) {
    const isSelected = button === tab.button;
    button.setAttribute("aria-selected", isSelected);
    button.tabIndex = isSelected ? 0 : -1;
  }
  tab.button.scrollIntoView({ inline: "nearest", block: "nearest" });
  find("panel").setAttribute("aria-label", tab.title);
  find("fields").replaceChildren(...tab.fields.map(field));
  const options = modelsWith(tab.route).map(({ name }) => element("option", name));
  find("model").replaceChildren(...options);
  find("model-label").hidden = options.length < 2;
  show([], "", "");
  find("request").hidden = true;
}

function field({ name, label, rows, example }) {
  const input = element(rows ? "textarea" : "input", [], { name, autocomplete: "off", ...(rows && { rows }) });
  input.value = example;
  return element("label", [label, input]);
}

function show(answer, cost, message) {
  find("answer").replaceChildren(...answer);
  find("cost").textContent = cost;
  find("message").textContent = message;
}

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const tab = current;
  const number = (asked += 1);
  const given = Object.fromEntries(new FormData(find("form")));
  const model = models.find(({ name }) => name === find("model").value);
  const body = { ...tab.body(given), ...(models.length > 1 && { model: model.name }) };
  if (backend.command) {
    find("curl").textContent = backend.command(tab.route, body);
    find("request").hidden = false;
  }
  find("run").disabled = true;
  try {
    const found = await backend.ask(tab.route, body);
    const cost = `${found.tokens} tokens, ${found.milliseconds.toFixed(0)} ms, of which the model took ${found.inference.toFixed(1)} ms`;
    if (number === asked) show(tab.show(found.body, given, model).flat(), cost, "");
  } catch (error) {
    if (number === asked) show([], "", error.message);
  } finally {
    find("run").disabled = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("form").requestSubmit();
});

find("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(find("curl").textContent);
  find("copy").textContent = "Copied";
  setTimeout(() => (find("copy").textContent = "Copy"), 1500);
});

find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  backend.useKey(find("key").value);
  start();
});

start();
