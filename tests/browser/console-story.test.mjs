// The whole journey of a new user: first start, sign-in, a flow from a template, an edit, a publish, a response at the
// hosted link, its arrival, its chart, and its exports read by third-party libraries.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { pythonService } from "../clients/python.mjs";
import { launch } from "./support/chromium.mjs";
import { checkAccess } from "./support/console.mjs";
import { becomes, matches, until, WAIT_MS_MAX } from "./support/until.mjs";

const BINARY = process.env.SLUICE_BIN ?? resolve(import.meta.dirname, "../../target/debug/sluice");
const parse = pythonService([resolve(import.meta.dirname, "../clients/exports.py")]);
const WHY = "=1+1 <script>window.ran = true</script> because it is \"quick\", and calm";

const folder = await mkdtemp(join(tmpdir(), "sluice-story-"));
const { url, token, stop } = await firstStart();
const browser = await launch();
after(async () => {
  await browser.close();
  await stop();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the server on an empty folder without a token, and reads its output. */
async function firstStart() {
  const child = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data", join(folder, "data")], {
    env: { PATH: process.env.PATH }, stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  const printed = [];
  for await (const line of createInterface(child.stdout)) {
    printed.push(line.trim());
    if (line.startsWith("Watch responses arrive")) break;
  }
  child.stdout.resume();
  const text = printed.join("\n");
  const found = (pattern) => pattern.exec(text)?.[1] ?? assert.fail(`${pattern} in:\n${text}`);
  const stop = async () => {
    child.kill("SIGTERM");
    assert.equal((await ended)[0], 0);
  };
  return { url: found(/listening on (\S+)/), token: found(/^(sluice_\w+)$/m), console: found(/console +(\S+)/), stop };
}

async function person() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.faults.push(message.text());
  });
  return page;
}

test("from the first start to exports that third-party libraries read", async () => {
  const author = await person();

  // First start: sign in with the printed token.
  await author.goto(url);
  await author.waitForURL(/\/console\/sign-in/);
  await author.locator("[name=token]").fill(token);
  await author.getByRole("button", { name: "Sign in" }).click();
  await author.waitForURL(/\/console\/apps\//);

  // A flow from a template.
  await author.getByRole("link", { name: "New flow" }).first().click();
  await author.waitForURL(/\/new/);
  await checkAccess(author, "templates");
  await author.getByRole("button", { name: "Use template: Net promoter score" }).click();
  await author.locator(".editor[data-ready]").waitFor();
  const flow = /flows\/(fl_\w+)/.exec(author.url())[1];

  // An edit, saved automatically.
  const prompt = author.locator('[data-pointer="/questions/0/prompt"]');
  if (!(await prompt.isVisible())) await author.locator(".item").first().locator(".open").click();
  const saved = author.waitForResponse((reply) => reply.url().endsWith("/draft") && reply.request().method() === "POST");
  await prompt.fill("How likely are you to recommend the story?");
  await saved;
  await author.locator("#saving[data-state=saved]").waitFor();
  await checkAccess(author, "editor");

  // Publish.
  await author.getByRole("link", { name: "Publish", exact: true }).click();
  await author.locator("dialog.ask[open]").getByRole("button", { name: "Publish version 1" }).click();
  await author.getByText("Version 1 is live.").waitFor();

  // The page of responses, before there are any; it waits for them.
  await author.goto(`${url}/console/flows/${flow}/responses`);
  await checkAccess(author, "no responses");

  // Someone else answers at the hosted link.
  const definition = await (await person()).goto(`${url}/f/${flow}`).then((reply) => reply.text());
  assert.match(definition, /How likely are you to recommend the story\?/);
  const respondent = await person();
  await respondent.goto(`${url}/f/${flow}?tags.plan=pro`);
  await respondent.locator('[name="answers.nps"][value="9"]').check();
  const question = respondent.locator(".question[data-id]:visible");
  const stored = respondent.locator("[data-state=stored]");
  await until(async () => {
    if (await stored.isVisible()) return;
    const text = question.locator("textarea, input.text");
    if (await text.count()) await text.fill(WHY);
    // A form that is sent within the first seconds must be sent again.
    await respondent.locator("button.primary:visible").first().click({ timeout: 5000 });
    await stored.waitFor({ timeout: 2000 });
  });

  // It arrives without a reload, as one row.
  await author.getByText("because it is").first().waitFor();
  assert.equal(await author.evaluate(() => window.ran), undefined);
  await checkAccess(author, "responses");

  // Its chart: one promoter is a score of 100.
  await author.getByRole("link", { name: "Results", exact: true }).click();
  await author.waitForURL(/\/results/);
  await author.getByText("How likely are you to recommend the story?").first().waitFor();
  // The key figure; the ends of the scale are also −100 and +100.
  await becomes(() => author.locator('main svg text[font-size="44"]').first().textContent(), "+100");
  await matches(() => author.locator("main").innerText(), /Responses\s+1\s/);
  await checkAccess(author, "results");

  // Its exports, each read by a third-party library.
  await author.goto(`${url}/console/flows/${flow}/responses`);
  for (const format of ["csv", "jsonl", "parquet", "xlsx"]) {
    await author.getByRole("link", { name: "Export" }).click();
    await author.locator(`#export [value=${format}]`).check();
    const [download] = await Promise.all([
      author.waitForEvent("download"),
      author.locator("#export").getByRole("button", { name: "Download" }).click(),
    ]);
    const file = join(folder, `story.${format}`);
    await download.saveAs(file);
    const rows = format === "jsonl"
      ? (await readFile(file, "utf8")).trim().split("\n").map((line) => flat(JSON.parse(line)))
      : (await parse({ format, file })).rows;
    assert.equal(rows.length, 1, format);
    // Excel has labels by default, the other formats ids.
    const column = format === "xlsx" ? "How likely are you to recommend the story?" : "nps";
    assert.equal(String(Number(rows[0][column])), "9", format);
    assert.ok(Object.values(rows[0]).includes(WHY), `${format}: ${JSON.stringify(rows[0])}`);
    // Parquet has a list for each tag, because a tag may have several values.
    assert.deepEqual([rows[0]["tag.plan"]].flat(), ["pro"], format);
    await author.reload();
  }
  assert.deepEqual(author.faults, []);
  assert.deepEqual(respondent.faults, []);
});

/** An item of the API with the columns of a table. */
function flat({ answers, metadata, ...rest }) {
  const tags = Object.entries(metadata?.tags ?? {}).map(([name, value]) => [`tag.${name}`, value]);
  return { ...rest, ...answers, ...Object.fromEntries(tags) };
}
