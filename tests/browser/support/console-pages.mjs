// Every page and state of the console, for the gallery: an address, or an address with what leads to the state.

const option = (id, label, score) => ({ id, label, ...(score === undefined ? {} : { score }) });

export const SURVEY = {
  title: "Product feedback",
  description: "Two minutes that help us decide what to build next.",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely are you to recommend us to a friend or colleague?", required: true,
      lowLabel: "Not at all likely", highLabel: "Extremely likely" },
    { id: "why", type: "longText", prompt: "What is the main reason for your score?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", allowOther: true,
      options: [option("api", "The API"), option("console", "The console"), option("links", "Hosted links"), option("exports", "Exports")] },
    { id: "docs", type: "rating", prompt: "How good is our documentation?", lowLabel: "Poor", highLabel: "Excellent" },
    { id: "order", type: "ranking", prompt: "What matters most to you?",
      options: [option("price", "Price"), option("speed", "Speed"), option("care", "Support")] },
  ],
};

/** Scores, sections, a welcome screen, endings, a translation, jumps. */
const QUIZ = {
  title: "Coffee quiz",
  welcome: { title: "How well do you know coffee?", body: "Four questions, **two minutes**.", buttonText: "Start" },
  questions: [
    { id: "origin", type: "singleChoice", prompt: "Where does coffee come from?", required: true,
      options: [option("et", "Ethiopia", 2), option("br", "Brazil", 1), option("it", "Italy", 0)] },
    { id: "cups", type: "number", prompt: "How many cups do you drink on an ordinary working day?", min: 0, max: 20 },
    { id: "sure", type: "rating", prompt: "How sure are you?", score: "value", next: [{ when: { question: "sure", lessThan: 2 }, to: "end" }] },
    { id: "when", type: "date", prompt: "When did you last drink one?", visibleIf: { question: "origin", equals: "et" } },
    { id: "grid", type: "matrix", prompt: "How do you like it?", rows: [option("hot", "Hot"), option("iced", "Iced")],
      columns: [option("no", "Not at all"), option("ok", "It is fine"), option("yes", "Very much")] },
  ],
  sections: [{ id: "facts", title: "The facts", questions: ["origin", "cups", "sure"] }],
  ending: { title: "Thank you", body: "You have {{score}} points." },
  endings: [{ id: "expert", when: { score: true, greaterThan: 5 }, title: "You are an expert" }],
  translations: { de: { title: "Kaffeequiz", questions: { origin: { prompt: "Woher kommt Kaffee?" } } } },
};

const WHY = [
  "Quick to set up, and the answers are where our data is.", "The API is a pleasure: three calls and we were done.",
  "Our own interface, at last. Support answered within the hour.", "Publishing does not break people who are half way through.",
  "I miss a chart for two questions together.", "Exports open in Excel without any fuss.", "Setup took ten minutes; the docs are good.",
];
const PLANS = ["free", "pro", "pro", "team"];

async function submit({ base, flowVersionId }, answers, more = {}) {
  const body = { flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers, ...more };
  const reply = await fetch(`${base}/trpc/response.submit`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const { result } = await reply.json();
  if (!result?.data?.success) throw new Error(JSON.stringify(result));
}

/** Realistic answers: more good than bad, and some questions skipped. */
export async function answer(flow, count) {
  for (let n = 0; n < count; n += 1) {
    const nps = [9, 10, 8, 9, 7, 10, 6, 9, 3, 10, 8][(n * 7) % 11];
    const use = [["api"], ["api", "exports"], ["console"], ["links", "console"], ["other:our own SDK"], ["api", "console"]][n % 6];
    const answers = { nps: `${nps}`, use, docs: `${[5, 4, 4, 5, 3, 2, 5][(n * 5) % 7]}`, order: [["speed", "care", "price"], ["price", "speed", "care"], ["speed", "price", "care"]][n % 3] };
    if (n % 2 === 0) answers.why = WHY[(n / 2) % WHY.length];
    const known = n % 3 === 0;
    await submit(flow, answers, {
      ...(known ? { respondentAnalyticsAdmission: "admitted", identities: [{ type: "userId", value: `u-${n}` }, { type: "traits.email", value: `u${n}@mail.example` }] } : {}),
      metadata: { tags: { plan: PLANS[n % 4] } },
    });
  }
}

async function takeQuiz(flow, count) {
  for (let n = 0; n < count; n += 1) {
    const origin = ["et", "br", "et", "it"][n % 4];
    await submit(flow, {
      origin, cups: `${(n * 3) % 7}`, sure: `${1 + ((n * 2) % 5)}`,
      ...(origin === "et" ? { when: `2026-${`${1 + (n % 9)}`.padStart(2, "0")}-10` } : {}),
      grid: [`hot:${["yes", "ok", "no"][n % 3]}`, `iced:${["no", "ok"][n % 2]}`],
    }, { metadata: { tags: { team: n % 2 ? "Berlin" : "Lyon" } } });
  }
}

/** Creates what the pages show. Returns pages and states by name, and what restores the drafts that states have changed. */
export async function allPages(world, flow) {
  const admin = (...call) => world.server.admin(...call);
  const { appId, flowId } = flow;
  const made = async (definition, more) => {
    const { flowId: id, flowVersionId } = await world.server.createFlow(appId, definition.title, definition, more);
    return { flowId: id, flowVersionId, base: flow.base };
  };
  const quiz = await made(QUIZ);
  await takeQuiz(quiz, 40);
  const quotas = [{ id: "italy", when: { question: "origin", equals: "it" }, limit: 50 }];
  await admin("PATCH", `/flows/${quiz.flowId}`, { closeAfter: 200, quotas });
  const empty = await made({ title: "Not published yet", questions: [] }, { publish: false });
  const unanswered = await made({ ...SURVEY, title: "Waiting for responses" });
  const faulty = await made({ title: "Faulty", questions: [{ id: "a", type: "rating", prompt: "" }, { id: "a", type: "rating" }] }, { publish: false });
  const archived = await made({ ...SURVEY, title: "Last year" });
  await admin("DELETE", `/flows/${archived.flowId}`);
  const { appId: newApp } = await world.server.createApp("A new app");
  const report = await admin("POST", `/flows/${flowId}/reports`, { title: "Feedback for the board", questions: ["nps", "use", "docs"] });
  const locked = await admin("POST", `/flows/${flowId}/reports`, { title: "With a password", questions: ["nps"], password: "blue lamp under the stairs" });
  await admin("POST", `/flows/${flowId}/invitations`, { invitations: [{ userId: "ada" }, { email: "bob@mail.example" }] }).catch(() => {});
  const { userId } = await admin("POST", "/users", { email: "ann@mail.example", name: "Ann Example", role: "editor", appId }).catch(() => ({}));
  const restore = async () => {
    await admin("PATCH", `/flows/${flowId}`, { name: SURVEY.title });
    await admin("POST", `/flows/${flowId}/reopen`);
    await admin("PUT", `/flows/${flowId}/draft`, { ...SURVEY, description: "One minute that helps us." });
    await admin("PUT", `/flows/${quiz.flowId}/draft`, QUIZ);
  };
  await restore();
  const [response] = await world.responses(flow);
  const { items: [respondent] = [] } = await admin("GET", `/respondents?appId=${appId}&type=userId&value=u-3`).catch(() => ({}));
  const of = `/console/flows/${flowId}`;
  const app = `/console/apps/${appId}`;
  const quizOf = `/console/flows/${quiz.flowId}`;
  const path = (address) => new URL(address).pathname;
  const pages = {
    ...plainPages({ of, app, quizOf, newApp, empty, unanswered, faulty, archived, response, respondent, userId }),
    "report-shared": path(report.link), "report-locked": path(locked.link), "report-gone": "/r/nothing",
    "report-edit": `${of}/results/reports/${report.reportId}`,
    ...(await webhookPages(admin, flow)),
    ...editorStates({ of, quizOf, faulty: `/console/flows/${faulty.flowId}` }),
    ...otherStates({ of, app, quizOf }),
  };
  return { pages, restore };
}

/** The arguments of a server whose webhooks may go to this machine. */
export const LOCAL_WEBHOOKS = ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http"];

/** An endpoint where nobody listens, and one that is off. */
async function webhookPages(admin, { appId, flowId }) {
  const of = `/apps/${appId}/webhooks`;
  const make = (path, more) => admin("POST", of, { url: `http://127.0.0.1:9/hooks/${path}`, ...more });
  const failing = await make("crm", { description: "The CRM", events: ["response.created", "flow.published"], flows: [flowId] });
  const off = await make("old");
  await admin("PATCH", `${of}/${off.webhookId}`, { enabled: false });
  const sent = await admin("POST", `${of}/${failing.webhookId}/test`);
  const app = `/console/apps/${appId}/settings`;
  const one = `${app}/webhooks/${failing.webhookId}`;
  return {
    webhooks: `${app}/webhooks`, endpoint: one, "endpoint-edit": `${one}/edit`, "endpoint-off": `${app}/webhooks/${off.webhookId}`,
    "endpoint-replay": `${one}/replay`, delivery: `${one}/deliveries/${sent.deliveryId}`, events: `${app}/events`,
    "event-open": [`${app}/events`, (page) => page.locator("details.entry summary").last().click()],
    "endpoint-delete": [one, async (page) => {
      await page.getByRole("button", { name: "Delete" }).last().click();
      await page.locator("dialog.ask[open]").waitFor();
    }],
  };
}

const flowPath = ({ flowId }, part) => `/console/flows/${flowId}/${part}`;

function plainPages({ of, app, quizOf, newApp, empty, unanswered, faulty, archived, response, respondent, userId }) {
  return {
    start: "/console", flows: app, "flows-none": `/console/apps/${newApp}`, "flows-archived": `${app}?view=archived`, new: `${app}/new`,
    edit: `${of}/edit`, "edit-empty": flowPath(empty, "edit"), "edit-faulty": flowPath(faulty, "edit"), "edit-archived": flowPath(archived, "edit"),
    "publish-review": `${of}/publish`, "discard-review": `${of}/discard`, "archive-review": `${of}/archive`,
    history: `${of}/history`, design: `${of}/design`, share: `${of}/share`, "share-unpublished": flowPath(empty, "share"),
    responses: `${of}/responses`, tests: `${of}/responses/tests`, "responses-none": flowPath(unanswered, "responses"), "responses-filtered": `${of}/responses?answer.nps%5Blt%5D=7&tag.plan=pro`,
    "responses-sorted": `${quizOf}/responses?sort=-score`, "responses-no-match": `${of}/responses?search=nothing-like-this`,
    ...(response ? { response: `${of}/responses/${response.responseId}` } : {}),
    results: `${of}/results`, "results-quiz": `${quizOf}/results`, "results-compared": `${of}/results?compare=tag.plan`,
    "results-quiz-compared": `${quizOf}/results?compare=tag.team`, "results-none": flowPath(unanswered, "results"),
    "results-no-match": `${of}/results?from=2001-01-01&to=2001-01-02`,
    funnel: `${of}/results/funnel`, crosstab: `${of}/results/crosstab?rows=use&columns=nps`, answers: `${of}/results/answers?question=why`, reports: `${of}/results/reports`,
    settings: `${app}/settings`, "app-design": `${app}/settings/design`, images: `${app}/settings/images`, keys: `${app}/settings/keys`, identity: `${app}/settings/identity`, people: `${app}/settings/people`, "app-audit": `${app}/settings/audit`, events: `${app}/settings/events`,
    respondents: `${app}/settings/respondents`, ...(respondent ? { respondent: `${app}/settings/respondents/${respondent.respondentId}` } : {}),
    instance: "/console/settings", apps: "/console/settings/apps", users: "/console/settings/users", ...(userId ? { user: `/console/settings/users/${userId}` } : {}),
    tokens: "/console/settings/tokens", mail: "/console/settings/mail", audit: "/console/settings/audit", account: "/console/settings/account",
    missing: "/console/nothing",
  };
}

const item = (page, at) => page.locator(".item").nth(at).locator(".open").click();
const section = (name) => (page) => page.locator(`[data-shows-section=${name}]`).click();

function editorStates({ of, quizOf, faulty }) {
  const at = (path, act) => [`${path}/edit`, async (page) => { await page.locator(".editor[data-ready]").waitFor(); await act(page) }];
  return {
    "edit-options": at(of, (page) => item(page, 2)),
    "edit-logic": at(of, async (page) => { await item(page, 1); await page.getByLabel("Show this question").selectOption("if") }),
    "edit-jumps": at(quizOf, (page) => item(page, 2)),
    "edit-section": at(quizOf, (page) => item(page, 1)),
    "edit-matrix": at(quizOf, (page) => item(page, 4)),
    "edit-texts": at(quizOf, section("texts")),
    "edit-languages": at(quizOf, section("languages")),
    "edit-settings": at(quizOf, section("schedule")),
    "edit-new-quota": at(quizOf, async (page) => { await section("schedule")(page); await page.getByText("New quota").click() }),
    "edit-json": at(quizOf, section("json")),
    "edit-problem": at(faulty, (page) => item(page, 1)),
    "edit-palette": at(of, (page) => page.getByRole("button", { name: "+ Add question" }).click()),
    "edit-deleted": at(of, (page) => page.getByRole("button", { name: "Delete", exact: true }).click()),
    "edit-preview": at(quizOf, async (page) => { const show = page.locator("[data-shows-pane=preview]"); if (await show.isVisible()) await show.click() }),
    "edit-offline": at(of, async (page) => {
      await page.context().setOffline(true);
      await page.locator("#title-field").fill("Not saved");
      await page.locator("#bar:not([hidden])").waitFor();
    }),
  };
}

function otherStates({ of, app }) {
  return {
    publish: [`${of}/share`, (page) => page.getByRole("link", { name: "Publish", exact: true }).click()],
    discard: [`${of}/share`, (page) => page.getByRole("link", { name: "Discard" }).click()],
    // Answers from the test link, sent without its page.
    "tests-answered": [`${of}/try`, async (page) => {
      const key = await page.locator("[name=key]").first().inputValue();
      await page.request.post(page.url(), { form: { key, go: "send", "answers.nps": "9", "answers.why": "A test." } });
      await page.goto(new URL(`${of}/responses/tests`, page.url()).href);
    }],
    closed: [`${of}/share`, async (page) => {
      await page.locator(".flow-top summary").click();
      await page.getByRole("button", { name: "Close now" }).click();
      await page.locator(".toast").waitFor();
    }],
    menu: [`${of}/results`, (page) => page.locator(".flow-top summary").click()],
    go: [app, async (page) => { await page.keyboard.press("Control+k"); await page.keyboard.type("feedback") }],
    shortcuts: [app, (page) => page.keyboard.press("?")],
    columns: [`${of}/responses`, (page) => page.getByText("Columns and order").click()],
    "response-panel": [`${of}/responses`, (page) => page.locator("[data-panel]").first().click()],
    export: [`${of}/responses`, (page) => page.getByRole("button", { name: /^Export/ }).or(page.getByRole("link", { name: /^Export/ })).first().click()],
    invite: [`${of}/share`, (page) => page.getByText("Invite people", { exact: true }).click()],
    "custom-dates": [`${of}/results`, (page) => page.getByText("Custom dates").click()],
    "add-filter": [`${of}/results`, (page) => page.getByText("Add filter", { exact: true }).first().click()],
    "report-made": [`${of}/results/reports`, (page) => page.getByRole("button", { name: "Create link" }).click()],
    "side-menu": [of, async (page) => { const menu = page.locator("details.menu > summary"); if (await menu.isVisible()) await menu.click() }],
  };
}
