// node drive.mjs NODE_MODULES CHROMIUM EXPORTS JSON: answers of exported models from a headless browser, as JSON.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const [modules, executablePath, exportsFolder, questions] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");
const folders = { modules, exports: exportsFolder };
const types = { ".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm" };

const server = createServer((request, response) => {
  const [, folder, ...rest] = normalize(decodeURIComponent(request.url.split("?")[0])).split("/");
  const path = folder in folders ? join(folders[folder], ...rest) : join(import.meta.dirname, "page.html");
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
});
await new Promise((started) => server.listen(0, "127.0.0.1", started));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"] });
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  page.on("console", (message) => console.error(message.text()));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction("window.ready");
  const answers = [];
  for (const question of JSON.parse(questions)) answers.push(await page.evaluate((given) => window.answer(given), question));
  console.log(JSON.stringify(answers));
} finally {
  await browser.close();
  server.close();
}
