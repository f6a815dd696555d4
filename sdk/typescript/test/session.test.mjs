// Sessions against a real server: logic, local validation, and versions that change while somebody
// answers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startServer } from "../../../tests/clients/server.mjs";
import { createSluice, SluiceError } from "../dist/index.js";
import { html, progress } from "../dist/ui.js";

const options = (...ids) => ids.map((id) => ({ id, label: `Option ${id.toUpperCase()}` }));
const QUIZ = {
  title: "Quiz for {{tag:team|everyone}}",
  description: "Read the **rules**.",
  welcome: { title: "Welcome, {{tag:team}}", body: "- one\n- two", buttonText: "Go" },
  questions: [
    { id: "name", type: "shortText", prompt: "Your name?", required: true },
    { id: "level", type: "singleChoice", prompt: "How good, {{answer:name|friend}}?", required: true, next: [{ when: { question: "level", equals: "b" }, to: "hard" }],
      options: options("a", "b").map((it, at) => ({ ...it, score: at * 2.5 })) },
    { id: "easy", type: "yesNo", prompt: "Easy?", required: true },
    { id: "hard", type: "number", prompt: "Hard for {{answer:level}}?", min: 1 },
    { id: "stars", type: "rating", prompt: "Stars", score: "value", visibleIf: { score: true, greaterThan: 2 } },
  ],
  sections: [{ id: "s", title: "Part *two*", questions: ["easy", "hard"] }],
  ending: { title: "Bye" },
  endings: [{ id: "high", when: { score: true, greaterThan: 5 }, title: "{{score}} points", body: "Well done, {{answer:name}}!" }],
};
const FEEDBACK = {
  title: "Feedback",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "why", type: "shortText", prompt: "Why?" },
    { id: "use", type: "multipleChoice", prompt: "What?", options: options("api", "web") },
  ],
};

let server;
let app;
let sluice;
before(async () => {
  server = await startServer();
  app = await server.createApp("Sessions");
  sluice = createSluice({ baseUrl: server.url, apiKey: app.apiKey });
});
after(() => server.stop());

const flowOf = async (definition) => (await server.createFlow(app.appId, "Flow", definition)).flowId;
const stored = async (flowId) => (await server.admin("GET", `/flows/${flowId}/responses`)).items;

/** Publishes the next version. Without a grace window, older ones stop accepting at once. */
async function publish(flowId, definition, graceWindowSeconds = 0) {
  await server.admin("PATCH", `/flows/${flowId}`, { graceWindowSeconds });
  await server.admin("PUT", `/flows/${flowId}/draft`, definition);
  return (await server.admin("POST", `/flows/${flowId}/publish`)).flowVersionId;
}

test("a session follows the logic, repeats answers in texts, and submits what counts", async () => {
  const flowId = await flowOf(QUIZ);
  const session = await sluice.start(flowId, { tags: { team: "Red" }, context: { locale: "en-GB" }, html });
  assert.deepEqual([session.title, session.descriptionHtml], ["Quiz for Red", "<p>Read the <strong>rules</strong>.</p>"]);
  assert.deepEqual(session.welcome, { title: "Welcome, Red", body: "- one\n- two", bodyHtml: "<ul><li>one</li><li>two</li></ul>", buttonText: "Go" });
  const ids = () => session.questions.map(({ id }) => id);
  assert.deepEqual(ids(), ["name", "level", "easy", "hard"]);
  assert.deepEqual(session.pages.map(({ title, questions }) => [title, questions.length]), [[undefined, 1], [undefined, 1], ["Part two", 2]]);
  assert.equal(session.questions[1].prompt, "How good, friend?");

  let changes = 0;
  const stop = session.subscribe(() => changes++);
  session.answer("name", "Ada <b>").answer("easy", "yes").answer("level", "b").answer("hard", "0");
  assert.equal(changes, 4);
  assert.deepEqual(ids(), ["name", "level", "hard", "stars"]);
  assert.equal(session.questions[1].promptHtml, "How good, Ada &lt;b&gt;?");
  assert.equal(session.questions[2].prompt, "Hard for Option B?");
  assert.deepEqual(progress(session, "hard"), { number: 3, of: 4 });
  assert.deepEqual(session.issues("hard").map(({ code }) => code), ["out_of_range"]);
  assert.deepEqual(session.issues(), session.issues("hard"));
  // Nothing is sent while an answer is wrong.
  const refusal = await session.submit();
  assert.deepEqual(refusal.errors.formErrors, ['Question "hard" takes a number at least 1.']);
  assert.equal((await stored(flowId)).length, 0);

  session.answer("hard", "").answer("stars", "4");
  assert.equal(session.score, 6.5);
  assert.deepEqual([session.ending.title, session.ending.bodyHtml], ["6.5 points", "<p>Well done, Ada &lt;b&gt;!</p>"]);
  const result = await session.submit();
  assert.equal(result.score, 6.5);
  assert.deepEqual(session.result, result);
  stop();
  const [response] = await stored(flowId);
  assert.deepEqual(response.answers, { level: "b", name: "Ada <b>", stars: "4" });
  assert.deepEqual([response.responseId, response.metadata.tags, response.context.locale], [result.responseId, { team: "Red" }, "en-GB"]);
  // A second submit is the same one.
  assert.equal((await session.submit()).responseId, result.responseId);
  assert.equal((await stored(flowId)).length, 1);
});

test("a superseded version is accepted in its grace window", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId);
  const newer = await publish(flowId, { ...FEEDBACK, title: "Newer" }, 3_600);
  const result = await session.answer("nps", "9").submit();
  assert.equal(result.success, true);
  assert.equal(result.supersededBy, newer);
  assert.equal(result.carriedOver, undefined);
});

test("after the grace window, answers that all fit are submitted to the newer version at once", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId);
  const from = session.snapshot.flowVersionId;
  session.answer("nps", "9").answer("use", ["web"]);
  const to = await publish(flowId, { ...FEEDBACK, title: "Newer" });
  const result = await session.submit();
  assert.equal(result.success, true);
  assert.deepEqual(result.carriedOver, { from, to, dropped: {} });
  assert.equal(session.title, "Newer");
  const [response] = await stored(flowId);
  assert.deepEqual([response.flowVersionId, response.answers], [to, { nps: "9", use: ["web"] }]);
});

test("otherwise the respondent sees the newer version with the answers that fit, and nothing is lost", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId);
  session.answer("nps", "9").answer("why", "Because").answer("use", ["web"]);
  const [nps, , use] = FEEDBACK.questions;
  const questions = [nps, { id: "why", type: "rating", prompt: "Why?" }, { ...use, options: options("api") }, { id: "new", type: "yesNo", prompt: "New?", required: true }];
  const to = await publish(flowId, { title: "Newer", questions });
  // Whoever renders the newer version knows at once why.
  const seen = new Set();
  session.subscribe(() => seen.add(`${session.title} ${session.carriedOver?.to}`));
  const first = await session.submit();
  assert.deepEqual([...seen], ["Feedback undefined", `Newer ${to}`]);
  assert.equal(first.success, false);
  assert.deepEqual(first.carriedOver.dropped, { why: "Because", use: ["web"] });
  assert.equal(first.errors.issues[0].code, "no_longer_accepting");
  assert.deepEqual([session.snapshot.flowVersionId, session.answers, session.carriedOver], [to, { nps: "9" }, first.carriedOver]);
  assert.equal((await stored(flowId)).length, 0);
  const missing = await session.submit();
  assert.deepEqual(missing.errors.issues.map(({ code, path }) => [code, path[1]]), [["answer_required", "new"]]);
  const last = await session.answer("new", "yes").submit();
  assert.equal(last.success, true);
  assert.deepEqual((await stored(flowId)).map(({ answers }) => answers), [{ new: "yes", nps: "9" }]);
});

test("a new question is asked even if it need not be answered", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId);
  session.answer("nps", "3");
  await publish(flowId, { ...FEEDBACK, questions: [...FEEDBACK.questions, { id: "more", type: "shortText", prompt: "More?" }] });
  const first = await session.submit();
  assert.deepEqual([first.success, first.carriedOver.dropped], [false, {}]);
  assert.equal((await session.submit()).success, true);
  assert.equal((await stored(flowId)).length, 1);
});

test("a retired version leads to the newest one, and a closed flow is refused", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId);
  session.answer("nps", "9");
  const { flowVersionId } = session.snapshot;
  const to = await publish(flowId, FEEDBACK, 3_600);
  await server.admin("POST", `/flow_versions/${flowVersionId}/retire`);
  // The reply to the last resolve may be cached for some seconds, but not by this client.
  assert.equal((await session.submit()).carriedOver.to, to);

  const late = await sluice.start(flowId);
  await server.admin("POST", `/flows/${flowId}/close`);
  const refusal = await late.answer("nps", "1").submit();
  assert.deepEqual([refusal.success, refusal.carriedOver, refusal.errors.issues[0].code], [false, undefined, "no_longer_accepting"]);
  assert.equal((await stored(flowId)).length, 1);
});

test("after an unknown outcome the same answers are stored once, and so are changed ones", async () => {
  const flowId = await flowOf(FEEDBACK);
  let isLossy = true;
  const keys = [];
  const lossy = createSluice({
    baseUrl: server.url, apiKey: app.apiKey, attempts: 1,
    fetch: async (url, init) => {
      const reply = await fetch(url, init);
      if (init.body) keys.push(JSON.parse(init.body).idempotencyKey);
      // The server stored it, but the reply is lost.
      if (init.body && (typeof isLossy === "function" ? isLossy() : isLossy)) throw new TypeError("connection lost");
      return reply;
    },
  });
  const session = await lossy.start(flowId);
  session.answer("nps", "9");
  const both = await Promise.allSettled([session.submit(), session.submit()]);
  assert.deepEqual(both.map(({ status }) => status), ["rejected", "rejected"]);
  assert.equal(keys.length, 1, "two clicks are one call");
  isLossy = false;
  assert.equal((await session.submit()).success, true);
  assert.equal(keys[0], keys[1]);
  assert.equal((await stored(flowId)).length, 1);

  // Also if it was the newer version that stored it.
  const moved = await lossy.start(flowId);
  moved.answer("nps", "7");
  await publish(flowId, { ...FEEDBACK, title: "Newer" });
  let replies = 0;
  isLossy = () => ++replies > 1;
  await assert.rejects(moved.submit());
  assert.equal(moved.title, "Newer");
  isLossy = false;
  assert.equal((await moved.submit()).success, true);
  assert.equal((await stored(flowId)).length, 2);
  assert.equal(new Set(keys.slice(-3)).size, 1);

  // Changed answers have the same key: the earlier ones are what is stored, and the result says so.
  isLossy = true;
  const other = await lossy.start(flowId);
  const before = (await stored(flowId)).length;
  const thrown = await other.answer("nps", "1").submit().catch((error) => error);
  assert.ok(thrown instanceof SluiceError);
  assert.equal(thrown.idempotencyKey, other.idempotencyKey);
  await assert.rejects(other.answer("nps", "0").submit());
  isLossy = false;
  const result = await other.answer("nps", "2").submit();
  assert.deepEqual([result.success, result.earlier, other.result.earlier], [true, true, true]);
  assert.deepEqual(new Set(keys.slice(-4)), new Set([other.idempotencyKey]));
  const rows = await stored(flowId);
  assert.equal(rows.length, before + 1, "exactly one row");
  assert.equal(rows.find(({ responseId }) => responseId === result.responseId).answers.nps, "1");

  // If nothing was stored, the changed answers are.
  let isDown = true;
  const down = createSluice({
    baseUrl: server.url, apiKey: app.apiKey, attempts: 1,
    fetch: (url, init) => (isDown && init.body ? Promise.reject(new TypeError("connection lost")) : fetch(url, init)),
  });
  const fresh = await down.start(flowId);
  await assert.rejects(fresh.answer("nps", "1").submit());
  isDown = false;
  const changed = await fresh.answer("nps", "4").submit();
  assert.deepEqual([changed.success, changed.earlier], [true, undefined]);
  const after = await stored(flowId);
  assert.deepEqual([after.length, after.find(({ responseId }) => responseId === changed.responseId).answers.nps], [before + 2, "4"]);
});

test("a session is resumed at its version and with its key, and stores one response", async () => {
  const flowId = await flowOf(FEEDBACK);
  const first = await sluice.start(flowId, { answers: { nps: "9" } });
  const { idempotencyKey, snapshot: { flowVersionId } } = first;
  assert.equal((await first.submit()).success, true);
  await publish(flowId, { ...FEEDBACK, title: "Newer" }, 3_600);
  const resumed = await sluice.start(flowId, { answers: first.answers, idempotencyKey, flowVersionId });
  assert.deepEqual([resumed.snapshot.flowVersionId, resumed.idempotencyKey], [flowVersionId, idempotencyKey]);
  assert.equal((await resumed.submit()).responseId, first.result.responseId);
  assert.equal((await stored(flowId)).length, 1);
  // A version that is not served, or of another flow, is replaced by the newest one.
  const { flowVersionId: foreign } = await sluice.resolve(await flowOf(QUIZ));
  for (const other of ["fv_0000000000000000000000", foreign]) {
    assert.equal((await sluice.start(flowId, { flowVersionId: other })).title, "Newer");
  }
  // Other answers than those that were stored are refused: after a reload the earlier ones are unknown.
  const different = await sluice.start(flowId, { answers: { nps: "2" }, idempotencyKey, flowVersionId });
  assert.deepEqual((await different.submit()).errors.issues.map(({ code }) => code), ["idempotency_key_reused"]);
  assert.equal((await stored(flowId)).length, 1);
  // One that is no longer accepted is left on submitting.
  const late = await sluice.start(flowId, { answers: { nps: "1" }, flowVersionId });
  const to = await publish(flowId, { ...FEEDBACK, title: "Newest" });
  assert.deepEqual([(await late.submit()).carriedOver, late.title], [{ from: flowVersionId, to, dropped: {} }, "Newest"]);
});

test("a consent is carried over only if its words are the same; an option by its id", async () => {
  const consent = { id: "terms", type: "consent", prompt: "I agree to the terms of 2025.", help: "See the *terms*." };
  const plan = { id: "plan", type: "singleChoice", prompt: "Plan?", options: options("a", "b") };
  const flowId = await flowOf({ title: "Terms", questions: [consent, plan] });
  const start = () => sluice.start(flowId, { answers: { terms: "accepted", plan: "a" } });
  const [same, asked, helped] = [await start(), await start(), await start()];
  const renamed = { ...plan, options: [{ id: "a", label: "Another label" }, { id: "b", label: "B" }] };
  await publish(flowId, { title: "Terms", questions: [consent, renamed] });
  const result = await same.submit();
  assert.deepEqual([result.success, result.carriedOver.dropped], [true, {}]);
  for (const [session, change] of [[asked, { prompt: "I agree to the terms of 2026." }], [helped, { help: "See the new terms." }]]) {
    await publish(flowId, { title: "Terms", questions: [{ ...consent, ...change }, plan] });
    const refusal = await session.submit();
    assert.deepEqual([refusal.success, refusal.carriedOver.dropped, session.answers], [false, { terms: "accepted" }, { plan: "a" }]);
  }
  assert.equal((await stored(flowId)).length, 1);
  // So it is if the version in which it was given is not there any more.
  const lost = await sluice.start(flowId, { answers: { terms: "accepted", plan: "a" }, flowVersionId: "fv_0000000000000000000000" });
  assert.deepEqual([lost.answers, lost.dropped], [{ plan: "a" }, { terms: "accepted" }]);
});

test("a matrix with a new row keeps the answers to the others", async () => {
  const grid = (...rows) => ({ id: "grid", type: "matrix", prompt: "?", required: true, rows: options(...rows), columns: options("x", "y") });
  const flowId = await flowOf({ title: "Grid", questions: [grid("a", "b")] });
  const session = await sluice.start(flowId, { answers: { grid: ["a:x", "b:y"] } });
  await publish(flowId, { title: "Grid", questions: [grid("a", "b", "c")] });
  const refusal = await session.submit();
  assert.deepEqual([refusal.carriedOver.dropped, session.answers], [{}, { grid: ["a:x", "b:y"] }]);
  assert.deepEqual(refusal.errors.issues.map(({ code }) => code), ["answer_required"]);
  assert.equal((await session.answer("grid", ["a:x", "b:y", "c:x"]).submit()).success, true);
});

test("unknown questions and wrong kinds of answers are errors, and no known answer is lost silently", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId, { answers: { nps: "9", gone: "x", why: null } });
  assert.deepEqual([session.answers, session.dropped], [{ nps: "9" }, { gone: "x" }]);
  assert.throws(() => session.answer("gone", "x"), { name: "SluiceError", code: "unknown_question", message: /"gone".*session\.questions/ });
  for (const wrong of [9, true, [9], {}]) {
    assert.throws(() => session.answer("nps", wrong), { name: "SluiceError", code: "wrong_answer_kind", message: /"nps" takes a text/ });
    await assert.rejects(sluice.start(flowId, { answers: { nps: wrong } }), { code: "wrong_answer_kind" });
  }
  assert.deepEqual(session.answers, { nps: "9" });
});

test("a flow that was archived meanwhile refuses, and nothing is thrown", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId, { answers: { nps: "9" } });
  await server.admin("DELETE", `/flows/${flowId}`);
  const refusal = await session.submit();
  assert.deepEqual([refusal.success, refusal.carriedOver, refusal.errors.issues.length], [false, undefined, 1]);
});

test("texts that the server never takes are reported at once, and addresses beyond ASCII are left to it", async () => {
  const flowId = await flowOf({ title: "Texts", questions: [
    { id: "text", type: "longText", prompt: "?", maxLength: 16_384 }, { id: "mail", type: "email", prompt: "?" }, { id: "web", type: "url", prompt: "?" },
  ] });
  const session = await sluice.start(flowId);
  const codes = () => session.issues().map(({ code }) => code);
  session.answer("text", "a\0b");
  assert.deepEqual(codes(), ["nul_character"]);
  session.answer("text", "x".repeat(16_385));
  assert.ok(codes().includes("too_long"));
  session.answer("text", "").answer("mail", "no address").answer("web", "no address");
  assert.deepEqual(codes(), ["invalid_format", "invalid_format"]);
  session.answer("mail", "ä ö@example.com").answer("web", "https://ä ö");
  assert.deepEqual(codes(), []);
  const refusal = await session.submit();
  assert.deepEqual(refusal.errors.issues.map(({ code }) => code), ["invalid_format", "invalid_format"]);
});

test("identities are linked only with consent, and never in a flow that does not ask", async () => {
  for (const [respondentAnalytics, asks, linked] of [["ask", true, "admitted"], ["never", false, "collection_only"]]) {
    const flowId = await flowOf({ ...FEEDBACK, respondentAnalytics });
    const session = await sluice.start(flowId, { identities: [{ type: "userId", value: "u1" }] });
    assert.equal(session.asksConsent, asks);
    assert.equal(session.submission().respondentAnalyticsAdmission, "collection_only");
    let changes = 0;
    session.subscribe(() => changes++);
    session.admission = "admitted";
    session.identities = [...session.identities];
    assert.equal(changes, 2, "both setters notify");
    assert.deepEqual([session.admission, session.effectiveAdmission], ["admitted", linked]);
    await session.answer("nps", "5").submit();
    assert.equal((await stored(flowId))[0].respondentAnalyticsAdmission, linked);
  }
});

test("consent is asked if an identity, a token or an invitation says who answers", async () => {
  const ask = { questions: [], title: "T", ending: {}, locales: ["en"], defaultLocale: "en", respondentAnalytics: "ask", flowVersionId: "fv_1" };
  const asks = async (start, more) => {
    const reply = async (url) => new Response(JSON.stringify(url.includes("/flows/") ? { flowId: "fl_1", flowVersionId: "fv_1" } : ask));
    return (await createSluice({ baseUrl: "https://x.example", apiKey: "pk_1", fetch: reply, ...more }).start("fl_1", start)).asksConsent;
  };
  assert.equal(await asks({}), false);
  assert.equal(await asks({ identities: [{ type: "userId", value: "u" }] }), true);
  assert.equal(await asks({}, { getToken: () => "token" }), true);
  assert.equal(await asks({ flowAssignmentId: "fa_1" }), true);
  assert.equal(await asks({ flowAssignmentId: "mine" }), false);
});

test("answers that are known already, and random order by visit", async () => {
  const many = options(..."abcdefgh");
  const flowId = await flowOf({ title: "Order", questions: [{ id: "q", type: "singleChoice", prompt: "?", options: many, optionOrder: "random" }] });
  const orders = await Promise.all(["one", "one", "two"].map(async (visit) => {
    const session = await sluice.start(flowId, { visit, answers: { q: "c" } });
    assert.deepEqual(session.answers, { q: "c" });
    return session.questions[0].options.map(({ id }) => id).join("");
  }));
  assert.equal(orders[0], orders[1]);
  assert.notEqual(orders[0], orders[2]);
  await assert.rejects(sluice.start("fl_0000000000000000000000"), { code: "flow_not_found", status: 404 });
});

test("the server judges a submission without storing it", async () => {
  const flowId = await flowOf(FEEDBACK);
  const session = await sluice.start(flowId, { answers: { nps: "9" } });
  const validate = (answers) => sluice.validate({ ...session.submission(), answers });
  assert.deepEqual(await validate({ nps: "9" }), { success: true });
  const refused = await validate({ nps: "11" });
  assert.deepEqual(refused.errors.issues, session.answer("nps", "11").issues());
  assert.equal((await stored(flowId)).length, 0);
});
