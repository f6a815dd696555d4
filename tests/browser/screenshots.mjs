// Takes screenshots of the hosted page: `node screenshots.mjs` updates the two in the README, and
// `node screenshots.mjs FOLDER` saves every page and state into a folder, for review.

import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";

import { EVERY_TYPE } from "./support/flows.mjs";
import { fill, goOn } from "./support/answering.mjs";
import { openWorld } from "./support/world.mjs";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const DAY_MS = 86_400_000;
/** Of a phone, a tablet and a desktop, each with its height. */
const WIDTHS = [[390, 844], [768, 1024], [1440, 900]];

const FEEDBACK = {
  title: "Product feedback",
  description: "Two minutes that help us decide what to build next.",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?", required: true,
      lowLabel: "Not at all likely", highLabel: "Extremely likely" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?",
      options: [{ id: "api", label: "The API" }, { id: "console", label: "The web console" }, { id: "exports", label: "Exports" }],
      allowOther: true, maxSelected: 3 },
    { id: "docs", type: "rating", prompt: "How good is our documentation?", lowLabel: "Poor", highLabel: "Excellent" },
    { id: "order", type: "ranking", prompt: "What matters most to you?",
      options: [{ id: "price", label: "Price" }, { id: "speed", label: "Speed" }, { id: "care", label: "Support" }] },
  ],
  ending: { title: "Thank you", body: "We read every answer." },
};

const ASKED = {
  title: "Asked",
  respondentAnalytics: "ask",
  questions: [{ id: "docs", type: "rating", prompt: "How good is our documentation?", lowLabel: "Poor", highLabel: "Excellent" }],
};

const ARABIC = {
  title: "رأيك في المنتج",
  description: "دقيقتان تساعداننا على تقرير ما نبنيه.",
  defaultLocale: "ar",
  questions: [
    { id: "nps", type: "nps", prompt: "ما مدى احتمال أن توصي بنا صديقًا أو زميلًا؟", lowLabel: "غير محتمل", highLabel: "محتمل جدًا" },
  ],
};

/** A welcome screen, a section, and an ending by condition. */
const SCREENS = {
  title: "Coffee quiz",
  welcome: { title: "How well do you know coffee?", body: "Three questions, **two minutes**.", buttonText: "Start" },
  questions: [
    { id: "name", type: "shortText", prompt: "What is your name?" },
    { id: "cups", type: "number", prompt: "How many cups do you drink a day?" },
    { id: "sure", type: "rating", prompt: "How much do you like it?", score: "value" },
  ],
  sections: [{ id: "you", title: "About you", questions: ["name", "cups"] }],
  endings: [{ id: "fan", when: { score: true, greaterThan: 3 }, title: "You love coffee, {{answer:name|friend}}", body: "{{score}} of 5 points." }],
};

const world = await openWorld();
try {
  if (process.argv[2]) await takeAll(process.argv[2]);
  else await takeForReadme();
} finally {
  await world.close();
}

async function takeForReadme() {
  await mkdir(IMAGES, { recursive: true });
  const flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  const wide = await world.visit(flow.path, { viewport: { width: 880, height: 560 } });
  await fill(wide.locator("#q-nps"), "9");
  await wide.mouse.move(0, 0);
  await take(wide, `${IMAGES}/hosted.png`);
  const narrow = await world.visit(flow.path, { size: "phone", theme: "dark", viewport: { width: 390, height: 570 } });
  await fill(narrow.locator("#q-nps"), "9");
  await goOn(narrow);
  await fill(narrow.locator("#q-use"), ["api", "exports"]);
  await take(narrow, `${IMAGES}/hosted-phone.png`);
}

async function takeAll(folder) {
  await mkdir(folder, { recursive: true });
  for (const [width, height] of WIDTHS) {
    for (const theme of ["light", "dark"]) {
      const appearance = { theme, size: width < 500 ? "phone" : "desktop", viewport: { width, height } };
      const name = (what) => `${folder}/${what}-${width}-${theme}.png`;
      await takeQuestions(appearance, name);
      await takeStates(appearance, name);
    }
  }
}

async function takeQuestions(appearance, name) {
  const flow = await world.flow({ ...FEEDBACK, questions: EVERY_TYPE.map(([question]) => question) });
  const page = await world.visit(flow.path, appearance);
  for (const [at, [question, answer]] of EVERY_TYPE.entries()) {
    if (question.required) {
      await page.locator(".primary").click();
      await take(page, name(`error-${question.id}`));
    }
    await fill(page.locator(`#q-${question.id}`), answer);
    await take(page, name(`question-${question.id}`));
    if (at < EVERY_TYPE.length - 1) await goOn(page);
  }
  await page.reload();
  await take(page, name("draft"));
  const plain = await world.visit(flow.path, { ...appearance, script: false });
  await take(plain, name("without-script"));
}

async function takeStates(appearance, name) {
  const flow = await world.flow(FEEDBACK, { name: "Product feedback" });
  const window = (liveWindow) => world.server.admin("PATCH", `/flows/${flow.flowId}`, { liveWindow });
  const at = async (path, what) => take(await world.visit(path, appearance), name(what));
  await at(`${flow.path}?tags.plan=${"x".repeat(600)}`, "notice");
  await at(`${flow.path}?embed=1`, "embed");
  await at(`${(await world.flow(ASKED, { name: "Asked" })).path}?identities.userId=ada`, "consent");
  const page = await world.visit(flow.path, appearance);
  await fill(page.locator("#q-nps"), "9");
  for (const id of ["use", "docs", "order"]) {
    await goOn(page);
    await page.locator(`#q-${id}`).waitFor();
  }
  await take(page, name("last"));
  await page.context().setOffline(true);
  await page.locator(".primary").click();
  await page.locator(".notice.live").waitFor();
  await take(page, name("offline"));
  await page.context().setOffline(false);
  await page.locator("main[data-state=stored]").waitFor();
  await take(page, name("stored"));
  await window({ startsAt: new Date(Date.now() + DAY_MS).toISOString(), endsAt: null });
  await at(flow.path, "scheduled");
  await window({ startsAt: null, endsAt: new Date(Date.now() - DAY_MS).toISOString() });
  await at(flow.path, "closed");
  await at("/f/fl_0000000000000000000000", "missing");
  await world.server.admin("POST", `/apps/${flow.appId}/identity-keys`, { type: "hs256" });
  await world.server.admin("PATCH", `/apps/${flow.appId}`, { identityVerification: "enforce" });
  await at(flow.path, "token");
  await takeScreens(appearance, name);
  const arabic = await world.flow(ARABIC, { name: "Arabic", app: { hosted: { accentColor: "#c2185b" } } });
  await at(arabic.path, "right-to-left");
}

async function takeScreens(appearance, name) {
  const flow = await world.flow(SCREENS, { name: "Coffee quiz" });
  const page = await world.visit(flow.path, appearance);
  await take(page, name("welcome"));
  await page.locator(".primary").click();
  await fill(page.locator("#q-name"), "Ada");
  await take(page, name("section"));
  await goOn(page);
  await fill(page.locator("#q-sure"), "5");
  await page.locator(".primary").click();
  await page.locator("main[data-state=stored]").waitFor();
  await take(page, name("ending-by-score"));
}

async function take(page, path) {
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path });
}
