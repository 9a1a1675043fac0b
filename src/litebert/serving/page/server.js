// Answers from the server that serves this page.

let key = "";

export const needsServer = true;

export function useKey(given) {
  key = given;
}

// What the server has: {models: [{name, task, routes, …}], version}. Throws an error with `status` 401 without the key.
export async function information() {
  return (await request("info")).body;
}

// {body, tokens, milliseconds} of one question to a model.
export async function ask(route, body) {
  const started = performance.now();
  const response = await request(route.slice(1), JSON.stringify(body));
  const tokens = Number(response.headers.get("x-compute-tokens"));
  const inference = Number(response.headers.get("x-inference-time"));
  return { body: response.body, tokens, inference, milliseconds: performance.now() - started };
}

// The curl command for a question; the key is a variable of the shell.
export function command(route, body) {
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  const header = key ? ` \\\n  -H "Authorization: Bearer $LITEBERT_API_KEY"` : "";
  return `curl ${location.origin}${route} \\\n  -H 'Content-Type: application/json'${header} \\\n  -d '${quoted}'`;
}

async function request(path, body) {
  const headers = { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) };
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body });
  } catch {
    throw new Error("The server does not answer; is it still running?");
  }
  const content = await response.json();
  if (!response.ok) throw Object.assign(new Error(content.error), { status: response.status });
  return { body: content, headers: response.headers };
}
