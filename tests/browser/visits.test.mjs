// Visits: what people do on a page is what the funnel counts, with and without script, hosted and embedded.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerAll, fill, goBack, goOn } from "./support/answering.mjs";
import { atDesk, checkPage } from "./support/console.mjs";
import { SHORT } from "./support/flows.mjs";
import { snippet, startHost } from "./support/host.mjs";
import { becomes } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
const host = await startHost(world);
after(async () => {
  host.close();
  await world.close();
});

/** [opened, started, finished], and each question as [seen, left]. */
async function figures({ flowId }) {
  const { opened, started, finished, questions } = await world.server.admin("GET", `/flows/${flowId}/funnel`);
  return [[opened, started, finished], ...questions.map(({ seen, left }) => [seen, left])];
}

/** The reports of a page. */
function reportsOf(page) {
  const reports = [];
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/visit")) reports.push(request.postDataJSON().steps.map(({ step }) => step));
  });
  return reports;
}

const leave = (page) => page.goto("about:blank");

async function answer(page, id, value) {
  const section = page.locator(`#q-${id}`);
  await section.waitFor();
  await fill(section, value);
}

for (const script of [true, false]) {
  const way = script ? "with" : "without";

  test(`people who leave at once, leave at the second question, and finish are counted as such (${way} script)`, async () => {
    const flow = await world.flow(SHORT);
    const look = await world.visit(flow.path, { script });
    await leave(look);
    await becomes(() => figures(flow), [[1, 0, 0], [1, 1], [0, 0], [0, 0]]);

    const stop = await world.visit(flow.path, { script });
    await answer(stop, "nps", "3");
    await goOn(stop);
    await stop.locator("#q-why").waitFor();
    assert.deepEqual(await stop.context().cookies(), [], "no cookies");
    await leave(stop);
    await becomes(() => figures(flow), [[2, 1, 0], [2, 1], [1, 1], [0, 0]]);

    // Logic skips the second question; whoever skips it has not left there.
    const done = await world.visit(flow.path, { script });
    const reports = reportsOf(done);
    await answer(done, "nps", "9");
    await goOn(done);
    await done.locator("#q-name").waitFor();
    await goBack(done);
    await done.locator("#q-nps").waitFor();
    await goOn(done);
    await answerAll(done, [["name", "Ada"]]);
    await becomes(() => figures(flow), [[3, 2, 1], [3, 1], [1, 1], [1, 0]]);
    await leave(done);
    const once = [["opened", "seen", "started", "passed", "seen", "passed", "finished"]];
    assert.deepEqual(reports, script ? once : [], "a whole visit is one report");
    assert.deepEqual(await figures(flow), [[3, 2, 1], [3, 1], [1, 1], [1, 0]]);
    const { timeToFinish } = await world.server.admin("GET", `/flows/${flow.flowId}/funnel`);
    assert.equal(timeToFinish.times, 1);
  });

  test(`visits to an embedded flow are counted (${way} script)`, async () => {
    // In a frame of another site, Chromium ignores <noscript> if a test turns scripts off; another origin will do.
    const from = script ? host.origin : host.otherOrigin;
    const flow = await world.flow(SHORT, { app: { allowedOrigins: [from] } });
    host.put(flow.path, snippet(0, world.server.url, flow.flowId));
    const open = async () => {
      const page = await world.visit(`${from}${flow.path}`, { script });
      const frame = page.frameLocator("iframe");
      await frame.locator("#q-nps").waitFor();
      return { page, frame };
    };
    const stop = await open();
    await answer(stop.frame, "nps", "3");
    await goOn(stop.frame);
    await stop.frame.locator("#q-why").waitFor();
    await leave(stop.page);
    await becomes(() => figures(flow), [[1, 1, 0], [1, 0], [1, 1], [0, 0]]);
    const done = await open();
    await answerAll(done.frame, [["nps", "9"], ["name", "Ada"]]);
    await becomes(() => figures(flow), [[2, 2, 1], [2, 0], [1, 1], [1, 0]]);
  });
}

test("someone who comes back to kept answers is a second visit, at the same question", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  await answer(page, "nps", "3");
  await goOn(page);
  await page.locator("#q-why").waitFor();
  await page.reload();
  await page.locator("#q-why").waitFor();
  await becomes(() => figures(flow), [[1, 1, 0], [1, 0], [1, 1], [0, 0]]);
  await answerAll(page, [["why", "Slow"], ["name", "Ada"]]);
  await becomes(() => figures(flow), [[2, 2, 1], [2, 0], [2, 1], [1, 0]]);
});

test("a page that is hidden reports what happened so far, and later only the rest", async () => {
  const flow = await world.flow(SHORT);
  const page = await world.visit(flow.path);
  const reports = reportsOf(page);
  await answer(page, "nps", "9");
  const hide = () => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    delete document.hidden;
  };
  await page.evaluate(hide);
  await becomes(() => figures(flow), [[1, 1, 0], [1, 1], [0, 0], [0, 0]]);
  await page.evaluate(hide);
  await goOn(page);
  await answerAll(page, [["name", "Ada"]]);
  await becomes(() => figures(flow), [[1, 1, 1], [1, 0], [0, 0], [1, 0]]);
  assert.deepEqual(reports, [["opened", "seen", "started"], ["passed", "seen", "passed", "finished"]]);
});

test("the preview of a draft reports nothing", async () => {
  const flow = await world.flow(SHORT);
  const desk = await atDesk(world);
  const page = await desk.open(`/console/flows/${flow.flowId}/preview`);
  const reports = reportsOf(page);
  await answerAll(page, [["nps", "9"], ["name", "Ada"]]);
  await leave(page);
  assert.deepEqual(reports, []);
  assert.deepEqual(await figures(flow), [[0, 0, 0], [0, 0], [0, 0], [0, 0]]);
});

test("the funnel in the console shows the same numbers, and fits in both themes at every width", async () => {
  const flow = await world.flow(SHORT);
  const desk = await atDesk(world);
  const results = `/console/flows/${flow.flowId}/results`;
  const check = async (path, what) => {
    const page = await desk.open(path);
    await checkPage(page, what);
    await page.context().close();
  };
  await check(`${results}/funnel`, "funnel-empty");
  const steps = [["opened"], ["seen", "nps"], ["started"], ["passed", "nps"], ["seen", "why"], ["passed", "why"], ["seen", "name"], ["passed", "name"], ["finished"]];
  const visits = [[2, 14], [5, 6], [7, 3], [9, 21]];
  for (const [end, times] of visits) {
    for (let time = 0; time < times; time++) {
      const taken = steps.slice(0, end).map(([step, question]) => ({ step, question, ...(step === "finished" ? { seconds: 40 + 3 * time } : {}) }));
      const body = JSON.stringify({ flowVersionId: flow.flowVersionId, steps: taken });
      const { status } = await fetch(`${flow.base}/visits`, { method: "POST", body });
      assert.equal(status, 204);
    }
  }
  const page = await desk.open(results);
  await page.getByRole("link", { name: "Funnel" }).click();
  await page.waitForURL(/results\/funnel$/);
  await page.locator(".chart-table summary").click();
  const rows = await page.locator(".chart-table tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows, [
    ["Opened", "44", "100%", "–"], ["1. Would you recommend us?", "44", "100%", "14"], ["Started", "30", "68%", "–"],
    ["2. Why?", "30", "68%", "6"], ["3. Your name", "24", "55%", "3"], ["Finished", "21", "48%", "–"],
  ]);
  await check(`${results}/funnel`, "funnel");
  await check(`${results}/funnel?period=7d`, "funnel-week");
});
