// Drives the page in a headless browser: node drive_page.cjs URL CHROMIUM SCREENSHOTS
// URL is that of `litebert serve`, or of a file server for a page of `litebert export --page`.
// Prints JSON: what each tab showed, errors in the console, and requests to other hosts.

const { chromium } = require("playwright-core");

const [url, executablePath, screenshots] = process.argv.slice(2);
const WIDTHS = { desktop: 1280, phone: 420 };

async function visit(browser, device, colorScheme) {
  const page = await browser.newPage({ viewport: { width: WIDTHS[device], height: 900 }, colorScheme });
  const seen = { tabs: {}, errors: [], elsewhere: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => request.url().startsWith(url) || seen.elsewhere.push(request.url()));
  await page.goto(url);
  await page.waitForSelector('[role="tab"]');
  const titles = await page.locator('[role="tab"]').allTextContents();
  await page.locator('[role="tab"]').first().focus();
  for (const title of titles) {
    // With the keyboard alone: arrows choose the tab, Ctrl+Enter asks.
    await page.waitForSelector(`[role="tab"][aria-selected="true"]:text-is("${title}")`);
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() => document.querySelector("#cost").textContent || document.querySelector("#message").textContent);
    seen.tabs[title] = {
      answer: await page.locator("#answer").innerText(),
      cost: await page.locator("#cost").innerText(),
      message: await page.locator("#message").innerText(),
      curl: await page.locator("#curl").textContent(),
      bars: await page.locator(".bar").evaluateAll((bars) => bars.map((bar) => bar.offsetWidth / bar.parentElement.offsetWidth)),
      overflow: await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
    };
    if (screenshots) await page.screenshot({ path: `${screenshots}/${title.replaceAll(" ", "-")}-${device}.png`, fullPage: true });
    await page.keyboard.press("ArrowRight");
  }
  await page.locator('[role="tab"]', { hasText: "Fill mask" }).click();
  await page.fill("textarea", "no mask");
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#message").textContent);
  seen.message = await page.locator("#message").innerText();
  // The browser reports the status itself; it is the only error.
  seen.errors = seen.errors.filter((text) => !text.includes("status of 422"));
  if (await page.locator("#footer").isVisible()) {
    await page.goto(`${url}/docs`);
    await page.waitForSelector("article");
    seen.routes = await page.locator("article h2").allTextContents();
    seen.docsOverflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (screenshots) await page.screenshot({ path: `${screenshots}/docs-${device}.png` });
  }
  await page.close();
  return seen;
}

(async () => {
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
  });
  const seen = { desktop: await visit(browser, "desktop", "light"), phone: await visit(browser, "phone", "dark") };
  await browser.close();
  console.log(JSON.stringify(seen));
})();
