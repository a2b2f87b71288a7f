// SPDX-License-Identifier: Apache-2.0
// browser.mjs WEB FOLDER [SHOTS]: opens the pages of FOLDER/plan.json in Chromium and prints a JSON line for each check: what
// is wrong, [] where nothing is.  WEB has playwright-core.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [web, folder, shots] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(join(web, "node_modules", "playwright-core", "index.mjs")).href);
const plan = JSON.parse(readFileSync(join(folder, "plan.json"), "utf8"));
const browser = await chromium.launch({ executablePath: process.env.ROCELAB_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

const near = (a, b) => a === b || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

/** A page, with everything it complains about and everything it asks for. */
async function open(name, options = {}, before = null) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(120000); // a busy machine is no failure
  const page = await context.newPage(), said = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") said.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("request", (request) => { if (!request.url().startsWith("file:") && !request.url().startsWith("data:") && !request.url().startsWith("http://127.0.0.1")) said.push(`asks for ${request.url()}`); });
  page.on("dialog", (dialog) => { said.push("a dialog"); void dialog.dismiss(); });
  if (before) await page.addInitScript(before);
  await page.goto(/^http/.test(name) ? name : pathToFileURL(join(folder, `${name}.html`)).href);
  await page.waitForSelector("html[data-ready]");
  await settle(page);
  return { page, said, close: () => context.close() };
}

const canvases = (page) => page.evaluate(() => Object.fromEntries(["timeline", "heatmap"].map((id) => [id, document.querySelector(`#${id} canvas`)?.toDataURL() ?? "none"])));
const starts = (page) => page.evaluate(() => [...document.querySelectorAll("#series .chart")].map((chart) => Number(chart.dataset.from)));

async function drag(page, selector, from, to) {
  const box = await page.locator(selector).first().boundingBox();
  const y = box.y + Math.min(box.height / 2, 60);
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 3 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 3 });
  await page.mouse.up();
  await settle(page);
}

/** In the page: text whose contrast with what is behind it is below 4.5, or 3 where it is large. */
function faint() {
  const parts = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => { const part = one / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }).reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const wrong = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, noscript, svg")) continue;
    let behind = null;
    for (let at = element; at && !behind; at = at.parentElement) { const back = parts(getComputedStyle(at).backgroundColor); if (back.length === 3 || back[3] > 0) behind = back; }
    const style = getComputedStyle(element), a = light(parts(style.color)), b = light(behind ?? [255, 255, 255]);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) wrong.add(`${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  return [...wrong];
}

/** In the page: charts of bars by title, each bar with its length and the ends of its interval as shares of the whole. */
function bars() {
  return Object.fromEntries([...document.querySelectorAll("figure:has(.bars)")].map((figure) => [figure.querySelector("figcaption").firstChild.data, {
    bottom: figure.getBoundingClientRect().bottom,
    bars: [...figure.querySelectorAll(".track")].map((track) => {
      const { left, width } = track.getBoundingClientRect(), label = track.previousElementSibling, ends = track.querySelector("b")?.getBoundingClientRect();
      return { label: label.textContent, cut: label.scrollWidth > label.clientWidth + 1, part: track.querySelector("i").getBoundingClientRect().width / width, ends: ends ? [ends.left, ends.right].map((end) => (end - left) / width) : null };
    }) }]));
}

/** In the page: what a reader of the screen could not name, and ids that are there twice. */
function nameless() {
  const wrong = [], ids = new Set();
  for (const element of document.querySelectorAll("[id]")) { if (ids.has(element.id)) wrong.push(`id ${element.id} twice`); ids.add(element.id); }
  for (const element of document.querySelectorAll("button, a, input, select, [role=img], [role=region]")) {
    const label = element.getAttribute("aria-label") ?? element.textContent ?? "", outer = element.closest("label")?.textContent ?? "";
    if (!label.trim() && !outer.trim()) wrong.push(`${element.tagName} without a name`);
  }
  for (const link of document.querySelectorAll("a[href^='#']")) if (!document.getElementById(link.getAttribute("href").slice(1))) wrong.push(`link to nothing: ${link.getAttribute("href")}`);
  return wrong;
}

const CHECKS = {
  async opens({ page, said }, one) {
    const wrong = [...said];
    if ((await page.getAttribute("html", "data-ready")) !== "yes") wrong.push("not ready");
    if (!(await page.title()).includes("rocelab")) wrong.push(`title ${await page.title()}`);
    const told = await page.textContent("#page");
    if (one.document.digest && !told.includes(one.document.digest)) wrong.push("no digest");
    return wrong;
  },
  async figures({ page }, one) {
    const wrong = [];
    for (const [id, value] of Object.entries(one.figures)) {
      const shown = Number(await page.getAttribute(`#figure-${id}`, "data-value"));
      if (!near(shown, value)) wrong.push(`${id}: ${shown}, not ${value}`);
    }
    for (const word of await page.$$eval(".figure.good, .figure.look, .figure.bad", (list) => list.map((item) => [item.className.split(" ").pop(), item.querySelector(".word")?.textContent]))) if (word[0] !== word[1]) wrong.push(`a colour without its word: ${word}`);
    return wrong;
  },
  names: ({ page }) => page.evaluate(nameless),
  async zoom({ page }) {
    const wrong = [], before = await canvases(page), all = await starts(page);
    if (all.length < 2) wrong.push(`${all.length} charts`);
    for (const id of ["timeline", "heatmap"]) if (before[id] === "none") wrong.push(`no ${id}`);
    const moved = async (how) => {
      const now = await canvases(page), from = await starts(page);
      for (const id of ["timeline", "heatmap"]) if (now[id] === before[id]) wrong.push(`${how}: ${id} stays`);
      if (from.some((at) => at === 0) || new Set(from).size > 1) wrong.push(`${how}: charts begin at ${[...new Set(from)]}`);
      if ((await page.textContent("#shown")).startsWith("all")) wrong.push(`${how}: told as all`);
    };
    const back = async (how) => { const from = await starts(page); if (from.some((at) => at !== 0) || JSON.stringify(await canvases(page)) !== JSON.stringify(before)) wrong.push(`${how}: not all is shown`); };
    await page.locator("#timeline .drawing").scrollIntoViewIfNeeded();
    await drag(page, "#timeline .drawing", 0.4, 0.7);
    await moved("drag in the timeline");
    await page.locator("#timeline .drawing").dblclick({ position: { x: 400, y: 10 } });
    await settle(page);
    await back("double click");
    await page.locator("#series .chart .u-over").first().scrollIntoViewIfNeeded();
    await drag(page, "#series .chart .u-over", 0.3, 0.6);
    await moved("drag in a line chart");
    await page.locator("#series .chart").first().focus();
    await page.keyboard.press("0");
    await settle(page);
    await back("key 0");
    for (const key of ["+", "ArrowRight"]) await page.keyboard.press(key);
    await settle(page);
    await moved("keys + and right");
    await page.keyboard.press("Home");
    await settle(page);
    return wrong;
  },
  async keys({ page, said }) {
    const wrong = [];
    await page.keyboard.press("/");
    const focused = () => page.evaluate(() => document.activeElement?.className ?? "");
    if (!(await focused()).includes("filter")) wrong.push("/ does not go to a filter");
    await page.locator("#ports-table .filter").focus();
    await page.keyboard.type("leaf1:");
    const rows = await page.$$eval("#ports-table tbody tr", (list) => list.map((row) => row.textContent));
    if (rows.length === 0 || rows.some((row) => !row.includes("leaf1:"))) wrong.push("the filter lets others pass");
    const head = page.locator("#ports-table thead th").nth(2);
    await head.locator("button").focus();
    await page.keyboard.press("Enter");
    if ((await head.getAttribute("aria-sort")) !== "descending") wrong.push("not sorted by Enter");
    const used = await page.$$eval("#ports-table tbody tr td:nth-child(3)", (list) => list.map((cell) => parseFloat(cell.textContent)));
    if (used.some((value, i) => i > 0 && value > used[i - 1])) wrong.push(`order ${used}`);
    await page.locator("#heatmap .drawing").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    const row = (await page.textContent("#heatmap .told")).split(":").slice(0, 2).join(":");
    if (!(await page.textContent("#chosen")).includes(row)) wrong.push(`${row} was not chosen`);
    await page.locator("svg.topology").focus();
    for (const key of ["ArrowRight", "Enter"]) await page.keyboard.press(key);
    if ((await page.textContent("#chosen")).includes(`Chosen: ${row}.`)) wrong.push("Enter in the topology chooses nothing");
    const stops = new Set();
    await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0); });
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      stops.add(await page.evaluate(() => { const at = document.activeElement, style = getComputedStyle(at); return at.matches(":focus-visible") && style.outlineStyle === "none" ? `no outline: ${at.tagName} ${at.className}` : "seen"; }));
    }
    for (const stop of stops) if (stop !== "seen") wrong.push(stop);
    return [...wrong, ...said];
  },
  async phone(_, one) {
    const { page, said, close } = await open(one.name, { viewport: { width: 320, height: 640 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    const short = await page.$$eval(".track", (list) => list.filter((track) => track.clientWidth < 200 || track.nextElementSibling.getBoundingClientRect().bottom > track.getBoundingClientRect().bottom).length);
    if (shots) await page.screenshot({ path: join(shots, `${one.name}-phone.png`), fullPage: true });
    await close();
    return [...said, ...(wide > 320 ? [`${wide} pixels wide`] : []), ...(short ? [`${short} bars are short, or are not under their value`] : [])];
  },
  async colours(_, one) {
    const wrong = [];
    for (const colorScheme of ["light", "dark"]) {
      const { page, said, close } = await open(one.name, { colorScheme, reducedMotion: "reduce" });
      wrong.push(...said, ...(await page.evaluate(faint)).map((text) => `${colorScheme}: ${text}`));
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.locator("button.theme").focus();
      await page.keyboard.press("Enter");
      if ((await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === ground) wrong.push("the theme button changes nothing");
      wrong.push(...(await page.evaluate(faint)).map((text) => `${colorScheme}, changed: ${text}`));
      if ((await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior)) !== "auto") wrong.push("moves though motion is to be reduced");
      await close();
    }
    return wrong;
  },
  async copy(_, one) {
    const { page, close } = await open(one.name, {}, () => { Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } }); });
    await page.locator("#jobs-table button", { hasText: "Copy as CSV" }).click();
    const lines = (await page.evaluate(() => window.copied)).trim().split("\n");
    await close();
    const wrong = lines.length === one.document.jobs.length + 1 ? [] : [`${lines.length} lines`];
    one.document.jobs.forEach((job, i) => { if (!lines[i + 1]?.startsWith(`${job.name},${job.repetition},${job.ranks},${job.bytes},`)) wrong.push(`line ${i + 1}: ${lines[i + 1]}`); });
    return wrong;
  },
  async print({ page }) {
    await page.emulateMedia({ media: "print" });
    const seen = await page.evaluate(() => [...document.querySelectorAll("header nav, .tools button")].filter((one) => one.checkVisibility()).length);
    await page.emulateMedia({ media: "screen" });
    return seen ? [`${seen} controls are printed`] : [];
  },
  async circle({ page }, one) {
    const wrong = [], shown = await page.textContent("#pauses");
    for (const { port } of one.document.deadlocks[0].cycle) if (!shown.includes(port)) wrong.push(`${port} of the circle is not shown`);
    if (!(await page.getAttribute("#verdict-word", "class")).includes("bad")) wrong.push("the word is not bad");
    return wrong;
  },
  async findings({ page, said }, one) {
    const wrong = [], { findings, missing, run } = one.document;
    const shown = await page.$$eval("#findings li[data-rule]", (list) => list.map((item) => ({ rule: item.dataset.rule, word: item.querySelector(".word").textContent, under: item.parentElement.closest("li")?.id ?? null, text: item.textContent, link: item.querySelector("a.runbook")?.getAttribute("href") })));
    const inOrder = (under) => findings.flatMap((finding, i) => (finding.consequence_of === under ? [i, ...inOrder(i)] : []));
    const order = inOrder(null);
    if (order.length !== findings.length || shown.length !== order.length) wrong.push(`${shown.length} findings, not ${findings.length}`);
    order.forEach((i, at) => {
      const finding = findings[i], item = shown[at];
      if (!item || item.rule !== finding.rule || item.word !== finding.severity || item.under !== (finding.consequence_of === null ? null : `finding-${finding.consequence_of}`)) wrong.push(`${finding.rule}: ${JSON.stringify(item)?.slice(0, 200)}`);
      for (const text of [finding.culprit, finding.owner, finding.confidence, finding.runbook, ...finding.victims.slice(0, 16), ...finding.evidence.slice(0, 12).map((row) => (row.file === null ? row.counter : `${row.file}:${row.line}`))]) if (!item?.text.includes(text)) wrong.push(`${finding.rule} does not say ${text}`);
      if (item?.link !== finding.runbook_page) wrong.push(`${finding.rule} links to ${item?.link}`);
    });
    for (const text of missing) if (!(await page.textContent("#missing")).includes(text)) wrong.push(`missing: ${text}`);
    const word = await page.textContent("#verdict-word");
    if (!findings.length && !(word.includes("not enough to tell") && (await page.textContent("#findings")).includes(one.document.because))) wrong.push(`without findings the page says ${word}`);
    for (const row of one.document.standing) if (!(await page.textContent("#standing-table")).includes(`${row.file}:${row.line}`)) wrong.push(`${row.object} does not stand out`);
    for (const ask of one.document.asks) if (!(await page.textContent("#asks")).includes(ask.command)) wrong.push(`${ask.command} is not asked for`);
    for (const device of one.document.devices.slice(0, 25)) if (!(await page.textContent("#devices-table")).includes(device.device)) wrong.push(`${device.device} is not listed`);
    if ((await page.locator("#topology").count()) !== (run ? 1 : 0)) wrong.push("the run's parts are there without a run, or not with one");
    if (run && findings.length) {
      await page.locator("#finding-0 button.select").first().focus();
      await page.keyboard.press("Enter");
      await settle(page);
      const drawn = await page.$$eval("#topology .node.chosen", (list) => list.map((node) => node.textContent));
      for (const name of [findings[0].culprit, ...findings[0].victims]) if (!drawn.some((text) => text.includes(name.split(":")[0]))) wrong.push(`${name} is not chosen in the topology: ${drawn}`);
    }
    return [...wrong, ...said];
  },
  async "no-run"({ page }) {
    return (await page.locator("#finding-0").count()) === 1 && (await page.locator("#no-run").count()) === 1 && (await page.locator("#topology").count()) === 0 ? [] : ["a broken run takes the findings with it, or is shown"];
  },
  async sources({ page, said }, one) {
    const wrong = [...said], known = (rows) => rows.filter((row) => row.source);
    if (!known(one.document.rows).length) wrong.push("no row has a source");
    for (const phase of one.document.phases) {
      const rows = known(one.document.rows.filter((row) => row.phase === phase)), text = await page.textContent(`#phase${phase}-table`);
      for (const row of rows) if (!text.includes(row.source)) wrong.push(`${row.subject}: ${row.source} is not shown`);
      if (text.includes("file and line") !== rows.length > 0) wrong.push(`phase ${phase}: the column of sources is there without one, or not with one`);
    }
    return wrong;
  },
  /** A bar for each system and set of each measure that decides, as long as its value, ahead of the table; and the columns of
   * those measures are seen without scrolling. */
  async compared({ page, said }, one) {
    const wrong = [...said], { systems } = one.document, keys = { score: "score", time: "time_ps", USD: "usd", W: "watts" };
    for (const width of [1400, 1000]) {
      await page.setViewportSize({ width, height: 1000 });
      await settle(page);
      const charts = await page.evaluate(bars), table = await page.locator("#systems-table").boundingBox();
      for (const [title, key] of Object.entries(keys)) {
        const chart = charts[title], most = Math.max(...systems.map((system) => system[key] + (system[`${key}_ci95`] ?? 0)));
        if (!chart || chart.bottom > table.y) { wrong.push(`${width}: no chart of ${title} ahead of the table`); continue; }
        systems.forEach((system, i) => {
          const bar = chart.bars[i];
          if (bar?.label !== system.system || Math.abs(bar.part - system[key] / most) > 0.02) wrong.push(`${width}: ${title} of ${system.system}: ${JSON.stringify(bar)}`);
        });
        const right = await page.locator("#systems-table thead th", { hasText: new RegExp(`^${title}$`) }).evaluate((head) => head.getBoundingClientRect().right);
        if (right > width) wrong.push(`${width}: column ${title} ends at ${right}`);
      }
    }
    return wrong;
  },
  /** Columns and charts are those that the program shows; categories are bars with whole labels, and each interval is drawn. */
  async swept({ page, said }, one) {
    const wrong = [...said], { points, show, columns, vary } = one.document;
    const shown = show.map(({ key }) => columns.find((column) => column.key === key));
    const heads = await page.$$eval("#points-table thead th", (list) => list.map((head) => head.textContent));
    if (JSON.stringify(heads.slice(vary.length)) !== JSON.stringify(shown.map((column) => column.name))) wrong.push(`columns ${heads}`);
    const charts = await page.evaluate(bars), drawn = shown.filter(({ key }) => points.some((point) => point[key]));
    if (await page.locator("#measures canvas").count()) wrong.push("lines between categories");
    if (JSON.stringify(Object.keys(charts)) !== JSON.stringify(drawn.map((column) => column.name))) wrong.push(`charts ${Object.keys(charts)}`);
    for (const { key, name } of drawn) {
      const most = Math.max(...points.map((point) => point[key] + point[`${key}_ci95`]));
      points.forEach((point, i) => {
        const bar = charts[name]?.bars[i], ends = [point[key] - point[`${key}_ci95`], point[key] + point[`${key}_ci95`]].map((end) => Math.max(end, 0) / most);
        if (bar?.label !== point.set[0] || bar.cut) wrong.push(`${name}: label ${bar?.label}`);
        if (point[`${key}_ci95`] ? !bar.ends || bar.ends.some((end, at) => Math.abs(end - ends[at]) > 0.02) : bar.ends) wrong.push(`${name} of ${point.set[0]}: interval ${bar.ends}, not ${ends}`);
      });
    }
    await page.locator("#measures select").last().selectOption("all");
    if ((await page.locator("#measures figure").count()) <= drawn.length) wrong.push("all measures are no more than those shown");
    return wrong;
  },
  /** Each interval of a line is drawn: ink where it ends, and none above it. */
  async intervals({ page, said }, one) {
    const wrong = [...said], { points } = one.document, most = Math.max(...points.map((point) => point.time_ps + point.time_ps_ci95)) * 1.08;
    const inked = await page.evaluate(({ places, count }) => {
      const plot = document.querySelector("#measures .chart"), over = plot.querySelector(".u-over"), canvas = plot.querySelector("canvas"), context = canvas.getContext("2d");
      const scale = canvas.width / canvas.clientWidth, at = over.getBoundingClientRect(), from = canvas.getBoundingClientRect(), wide = at.width / count;
      return places.map(({ i, y }) => {
        const x = (at.left - from.left + (i + 0.5) * wide + 2) * scale, pixels = context.getImageData(x, (at.top - from.top + at.height * (1 - y) - 2) * scale, 1, 4 * scale).data;
        return pixels.some((value, k) => k % 4 === 2 && pixels[k] - pixels[k - 2] > 60 && pixels[k + 1] > 60); // blue, and not the grid
      });
    }, { count: points.length, places: points.flatMap((point, i) => [1, -1, 1.3].map((sign) => ({ i, y: (point.time_ps + sign * point.time_ps_ci95) / most }))) });
    points.forEach((point, i) => { if (JSON.stringify(inked.slice(3 * i, 3 * i + 3)) !== "[true,true,false]") wrong.push(`${point.set}: ink at the ends and beyond: ${inked.slice(3 * i, 3 * i + 3)}`); });
    return wrong;
  },
  async hostile({ page, said }, one) {
    const wrong = [...said];
    if (await page.evaluate(() => window.hit !== undefined || document.querySelectorAll("img, iframe, object").length > 0)) wrong.push("a name became an element");
    if (!(await page.textContent("h1")).includes(one.document.fabric)) wrong.push("the name is not shown as it is");
    if (!(await page.textContent("#jobs-table")).includes(one.document.jobs[0].name)) wrong.push("the job's name is not shown as it is");
    return wrong;
  },
  async text({ page, said }, one) {
    const wrong = [...said];
    for (const [where, { has, not }] of Object.entries(one.text)) {
      const shown = (await page.textContent(where)) ?? "";
      for (const text of has ?? []) if (!shown.includes(text)) wrong.push(`${where} does not say ${text}: ${shown.slice(0, 300)}`);
      for (const text of not ?? []) if (shown.includes(text)) wrong.push(`${where} says ${text}`);
    }
    return wrong;
  },
  async "old-browser"(_, one) {
    const { page, said, close } = await open(one.name, {}, () => { delete window.DecompressionStream; });
    const told = await page.textContent("#page");
    await close();
    return [...said, ...(told.includes("cannot unpack") && told.includes("rocelab sim") ? [] : [`told: ${told}`])];
  },
  async live(_, one) {
    const template = readFileSync(join(folder, `${one.name}.html`), "utf8").replace("img-src data:", "img-src data:; connect-src 'self'").replace(/(id="(?:about|data)">)[^<]*/g, "$1");
    let asked = 0, tell = () => {};
    const server = createServer((request, answer) => {
      if (request.url === "/api/state.json") { asked++; answer.end(JSON.stringify({ ...one.document, seed: asked })); return; }
      if (request.url === "/api/events") { answer.writeHead(200, { "content-type": "text/event-stream" }); answer.write(": begin\n\n"); tell = () => answer.write("event: state\ndata: 1\n\n"); return; }
      answer.setHeader("content-type", "text/html");
      answer.end(template);
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const { page, said, close } = await open(`http://127.0.0.1:${server.address().port}/`);
    const first = await page.textContent(".facts");
    for (let i = 0; i < 1200 && asked < 2; i++) { tell(); await page.waitForTimeout(100); }
    await page.waitForFunction(() => /seed ([2-9]|\d\d)/.test(document.querySelector(".facts")?.textContent)); // told twice, it asks twice
    await close();
    server.close();
    server.closeAllConnections();
    return [...said, ...(first.includes("seed 1") ? [] : [`facts: ${first}`])];
  },
};

for (const one of plan) {
  const opened = await open(one.name);
  if (shots) await opened.page.screenshot({ path: join(shots, `${one.name}.png`), fullPage: true });
  for (const check of ["opens", "figures", "names", ...one.checks]) {
    const begun = Date.now();
    let wrong;
    try { wrong = await CHECKS[check](opened, one); } catch (error) { wrong = [String(error.message)]; }
    console.log(JSON.stringify({ page: one.name, check, wrong, ms: Date.now() - begun }));
  }
  await opened.close();
}
await browser.close();
console.log(JSON.stringify({ end: true }));
