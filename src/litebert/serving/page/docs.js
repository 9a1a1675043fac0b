// The reference of the routes, from the OpenAPI document of this server.

import { element } from "./views.js";

const openapi = await (await fetch("openapi.json")).json();

const schema = (given) => (given.$ref ? openapi.components.schemas[given.$ref.split("/").pop()] : given);

// A type in words: `string or list of string`.
function type(given) {
  if (given.$ref) return given.$ref.split("/").pop();
  if (given.anyOf) return given.anyOf.map(type).join(" or ");
  if (given.type === "array") return `list of ${given.items ? type(given.items) : "anything"}`;
  if (given.enum) return given.enum.map((each) => JSON.stringify(each)).join(", ");
  return given.const === undefined ? (given.type ?? "anything") : JSON.stringify(given.const);
}

function fields({ properties = {}, required = [] }) {
  const rows = Object.entries(properties).map(([name, field]) => {
    const byDefault = field.default === undefined ? "" : `default ${JSON.stringify(field.default)}`;
    const need = required.includes(name) ? "required" : byDefault;
    return element("tr", [element("td", element("code", name)), element("td", type(field)), element("td", need), element("td", field.description ?? "")]);
  });
  return element("div", element("table", element("tbody", rows)), { class: "scroll", tabindex: "0" });
}

// The named schemas inside a type, each shown once.
function parts(given, seen = new Set()) {
  if (given.$ref) seen.add(given.$ref.split("/").pop());
  for (const inner of [given.items, ...(given.anyOf ?? []), ...Object.values((given.$ref ? schema(given) : given).properties ?? {})]) {
    if (inner && !(inner.$ref && seen.has(inner.$ref.split("/").pop()))) parts(inner, seen);
  }
  return seen;
}

function body(title, content) {
  const given = content?.["application/json"]?.schema;
  if (!given) return [];
  const named = [...parts(given)].flatMap((name) => [element("h4", name), fields(openapi.components.schemas[name])]);
  return [element("h3", `${title}: ${type(given)}`), ...named];
}

function route(path, method, operation) {
  const statuses = Object.entries(operation.responses).map(([status, { description }]) => `${status}: ${description}`);
  return element("article", [
    element("h2", element("code", `${method.toUpperCase()} ${path}`)),
    element("p", operation.description ?? ""),
    ...body("Request", operation.requestBody?.content),
    ...body("Response", operation.responses["200"]?.content),
    element("details", [element("summary", "Statuses"), element("ul", statuses.map((each) => element("li", each)))]),
  ]);
}

const routes = Object.entries(openapi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => route(path, method, operation)),
);
document.getElementById("routes").replaceChildren(...routes);
