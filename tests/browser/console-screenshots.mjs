// Takes screenshots of the console: `node console-screenshots.mjs` updates the three in the README, and
// `node console-screenshots.mjs FOLDER` saves every page into a folder, in both themes and three sizes, for review.

import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";

import { atDesk } from "./support/console.mjs";
import { openWorld } from "./support/world.mjs";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const SURVEY = {
  title: "Product feedback",
  description: "Two minutes that help us decide what to build next.",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?", required: true,
      lowLabel: "Not at all likely", highLabel: "Extremely likely" },
    { id: "why", type: "longText", prompt: "What is the main reason for your score?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", allowOther: true,
      options: [{ id: "api", label: "The API" }, { id: "console", label: "The console" }, { id: "links", label: "Hosted links" }, { id: "exports", label: "Exports" }] },
    { id: "docs", type: "rating", prompt: "How good is our documentation?", lowLabel: "Poor", highLabel: "Excellent" },
    { id: "order", type: "ranking", prompt: "What matters most to you?",
      options: [{ id: "price", label: "Price" }, { id: "speed", label: "Speed" }, { id: "care", label: "Support" }] },
  ],
};
const WHY = [
  "Quick to set up, and the answers are where our data is.", "The API is a pleasure: three calls and we were done.",
  "Our own interface, at last. Support answered within the hour.", "Publishing does not break people who are half way through.",
  "I miss a chart for two questions together.", "Exports open in Excel without any fuss.", "Setup took ten minutes; the docs are good.",
];
const PLANS = ["free", "pro", "pro", "team"];

const world = await openWorld({ args: ["--hosted-sends-per-minute", "0"] });
const desk = await atDesk(world);
try {
  const flow = await world.flow(SURVEY, { name: "Product feedback" });
  await answer(flow, 140);
  const folder = process.argv[2];
  if (folder) await everything(flow, resolve(folder));
  else await readme(flow);
} finally {
  await world.close();
}

/** Realistic answers: more good than bad, and some questions skipped. */
async function answer({ base, flowVersionId }, count) {
  for (let n = 0; n < count; n += 1) {
    const nps = [9, 10, 8, 9, 7, 10, 6, 9, 3, 10, 8][(n * 7) % 11];
    const use = [["api"], ["api", "exports"], ["console"], ["links", "console"], ["other:our own SDK"], ["api", "console"]][n % 6];
    const answers = { nps: `${nps}`, use, docs: `${[5, 4, 4, 5, 3, 2, 5][(n * 5) % 7]}`, order: [["speed", "care", "price"], ["price", "speed", "care"], ["speed", "price", "care"]][n % 3] };
    if (n % 2 === 0) answers.why = WHY[(n / 2) % WHY.length];
    const reply = await fetch(`${base}/trpc/response.submit`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: n % 3 ? "collection_only" : "admitted",
        identities: n % 3 ? [] : [{ type: "userId", value: `u-${n}` }], answers, metadata: { tags: { plan: PLANS[n % 4] } } }),
    });
    const { result } = await reply.json();
    if (!result?.data?.success) throw new Error(JSON.stringify(result));
  }
}

async function readme({ flowId }) {
  await mkdir(IMAGES, { recursive: true });
  const desktop = { viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1.5 };
  await shoot(`/console/flows/${flowId}/results`, desktop, "console-results.png", IMAGES, 745);
  await shoot(`/console/flows/${flowId}/edit`, desktop, "console-editor.png");
  await shoot(`/console/flows/${flowId}/responses`, { width: 390, viewport: { width: 390, height: 780 }, theme: "dark", deviceScaleFactor: 2 }, "console-phone.png");
}

/** With `act`, the visible part of a state of the page. */
async function shoot(path, appearance, name, folder = IMAGES, from = 0, act = null) {
  const page = await desk.open(path, appearance);
  await page.waitForLoadState("networkidle").catch(() => {});
  await act?.(page);
  await page.evaluate((top) => scrollTo(0, top), from);
  await page.waitForTimeout(800);
  await page.screenshot({ path: resolve(folder, name), fullPage: folder !== IMAGES && !act });
  await page.context().close();
}

async function everything({ appId, flowId }, folder) {
  await mkdir(folder, { recursive: true });
  const flow = `/console/flows/${flowId}`;
  const app = `/console/apps/${appId}`;
  const pages = {
    flows: app, new: `${app}/new`, edit: `${flow}/edit`, share: `${flow}/share`, responses: `${flow}/responses`, results: `${flow}/results`,
    history: `${flow}/history`, design: `${flow}/design`, settings: `${app}/settings`, "app-design": `${app}/settings/design`, keys: `${app}/settings/keys`, identity: `${app}/settings/identity`,
    people: `${app}/settings/people`, users: "/console/settings/users", tokens: "/console/settings/tokens", audit: "/console/settings/audit",
  };
  // States of pages, each with what leads to it.
  const open = (page, at) => page.locator(".item").nth(at).locator(".open").click();
  const states = {
    "edit-options": [`${flow}/edit`, (page) => open(page, 2)],
    "edit-logic": [`${flow}/edit`, async (page) => { await open(page, 1); await page.getByLabel("Show this question").selectOption("if") }],
    "edit-palette": [`${flow}/edit`, (page) => page.getByRole("button", { name: "+ Add question" }).click()],
    "edit-settings": [`${flow}/edit`, (page) => page.locator("[data-shows-section=schedule]").click()],
    "edit-deleted": [`${flow}/edit`, (page) => page.getByRole("button", { name: "Delete" }).click()],
    publish: [`${flow}/share`, (page) => page.getByRole("link", { name: "Publish", exact: true }).click()],
    discard: [`${flow}/share`, (page) => page.getByRole("link", { name: "Discard" }).click()],
    menu: [`${flow}/results`, (page) => page.locator(".flow-top summary").click()],
    go: [app, async (page) => { await page.keyboard.press("Control+k"); await page.keyboard.type("feedback") }],
    shortcuts: [app, (page) => page.keyboard.press("?")],
  };
  await world.server.admin("PUT", `/flows/${flowId}/draft`, { ...SURVEY, description: "One minute that helps us." });
  for (const width of [390, 768, 1440]) {
    for (const theme of ["light", "dark"]) {
      for (const [name, path] of Object.entries(pages)) {
        await shoot(path, { width, theme }, `${name}-${width}-${theme}.png`, folder);
      }
      for (const [name, [path, act]] of Object.entries(states)) {
        await shoot(path, { width, theme }, `${name}-${width}-${theme}.png`, folder, 0, act);
      }
    }
  }
}
