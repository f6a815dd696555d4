// Every number of a filtered summary and of a cross-tabulation, computed again from the exported responses in Python.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { python } from "./python.mjs";
import { startServer } from "./server.mjs";

const TOKEN = "token-of-the-client-tests-0123456789";
const OPTIONS = [{ id: "api", label: "API" }, { id: "form", label: "Form" }, { id: "mail", label: "Mail" }];
const QUESTIONS = [
  { id: "nps", type: "nps", prompt: "How likely?" },
  { id: "stars", type: "rating", prompt: "How good?", max: 5 },
  { id: "plan", type: "singleChoice", prompt: "Which plan?", options: OPTIONS },
  { id: "use", type: "multipleChoice", prompt: "What do you use?", options: OPTIONS },
  { id: "size", type: "number", prompt: "How many are you?" },
  { id: "since", type: "date", prompt: "Since when?" },
  { id: "why", type: "longText", prompt: "Why?" },
];
const QUERIES = [
  { answers: [["nps", "lt", "7"]], tags: [], admission: null },
  { answers: [["nps", "lt", "7"]], tags: [["team", "red"]], admission: null },
  { answers: [["nps", "gte", "9"], ["plan", "ne", "api"]], tags: [], admission: "admitted" },
  { answers: [["size", "gt", "-1.5"], ["size", "lte", "40.25"]], tags: [["team", "blue"]], admission: null },
  { answers: [["since", "lt", "2025-07-01"]], tags: [], admission: null },
  { answers: [["why", "contains", "SLOW"]], tags: [], admission: null },
  { answers: [["stars", "answered", "false"]], tags: [], admission: null },
  { answers: [["use", "", "mail"]], tags: [], admission: "collection_only" },
  { answers: [], tags: [["team", "red"], ["team", "blue"]], admission: null },
].map((query) => ({ ...query, questions: ["nps", "stars", "plan", "use", "size"], rows: "plan", columns: "nps" }));
/** Enough for several pages of a scan. */
const COUNT = Number(process.env.SLUICE_RESPONSES ?? 3_000);
const WORKERS = 32;

/** A reproducible sequence of numbers from 0 to 1. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function submissionOf(next) {
  const pick = (all) => all[Math.floor(next() * all.length)];
  const ids = OPTIONS.map(({ id }) => id);
  const answers = {
    nps: String(Math.floor(next() * 11)), stars: String(1 + Math.floor(next() * 5)), plan: pick(ids),
    use: ids.filter(() => next() < 0.5), size: (next() * 100 - 10).toFixed(Math.floor(next() * 3)),
    since: `202${Math.floor(next() * 7)}-0${1 + Math.floor(next() * 9)}-1${Math.floor(next() * 10)}`,
    why: pick(["Too slow", "SLOWLY better", "Fine", "naïve \"quote\" slow"]),
  };
  for (const id of Object.keys(answers)) if (next() < 0.2) delete answers[id];
  return {
    answers, respondentAnalyticsAdmission: next() < 0.3 ? "admitted" : "collection_only",
    metadata: { tags: { team: pick(["red", "blue", ["red", "blue"], "green"]) } },
  };
}

let server, app, flow, folder;
before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "sluice-results-"));
  app = await server.createApp("Results");
  flow = await server.createFlow(app.appId, "Results", { title: "Results", questions: QUESTIONS });
  const next = random(7);
  const waiting = Array.from({ length: COUNT }, () => submissionOf(next));
  const work = async () => {
    for (let one = waiting.pop(); one; one = waiting.pop()) await submit(one);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function submit(more, attempts = 100) {
  const reply = await fetch(`${app.base}/trpc/response.submit`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4", ...more }),
  });
  // An app is limited, and this sends as fast as it can.
  if (reply.status === 429 && attempts > 1) {
    await sleep(1000 * Number(reply.headers.get("retry-after") ?? 1));
    return submit(more, attempts - 1);
  }
  const { result } = await reply.json();
  assert.equal(result?.data.success, true, JSON.stringify(result));
}

const parameters = ({ answers, tags, admission }) => [
  ...answers.map(([id, operator, value]) => [`answer.${id}${operator && `[${operator}]`}`, value]),
  ...tags.map(([name, value]) => [`tag.${name}`, value]),
  ...(admission ? [["admission", admission]] : []),
];

/** A result once it is computed; until then every reply has a progress. A reply takes up to a second. */
async function computed(path, query) {
  for (let reply = 0; reply < 600; reply++) {
    const result = await server.admin("GET", `/flows/${flow.flowId}/${path}?${new URLSearchParams(query)}`);
    if (!result.progress) return result;
    assert.ok(result.progress.read <= result.progress.of, JSON.stringify(result));
    await sleep(50);
  }
  assert.fail(`${path} is never computed`);
}

async function exported(query) {
  const search = new URLSearchParams([["format", "jsonl"], ...query]);
  const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?${search}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.equal(reply.status, 200);
  return reply.text();
}

/** The counts of a distribution by the id or the mark of an answer, without zeros. */
function countsOf({ distribution }) {
  const { kind, points, options } = distribution;
  const pairs = kind === "nps" ? points.map((count, mark) => [mark, count])
    : kind === "scale" ? points.map((count, mark) => [mark + 1, count]) : options.map(({ id, count }) => [id, count]);
  return Object.fromEntries(pairs.filter(([, count]) => count > 0).map(([key, count]) => [String(key), count]));
}

test("filtered summaries, cross-tabulations and exports equal what Python computes from the export", async () => {
  const file = join(folder, "all.jsonl");
  await writeFile(file, await exported([]));
  const script = join(import.meta.dirname, "results.py");
  const expected = JSON.parse(await python([script, file], JSON.stringify(QUERIES)));
  for (const [at, query] of QUERIES.entries()) {
    const name = JSON.stringify(query);
    const summary = await computed("summary", parameters(query));
    const { responses, admitted, answered, counts, mean, crosstab } = expected[at];
    assert.ok(responses > 0 && responses < COUNT, `${name} selects some`);
    assert.deepEqual([summary.responses, summary.admitted], [responses, admitted], name);
    for (const id of query.questions) {
      const question = summary.questions.find((one) => one.id === id);
      assert.equal(question.answered, answered[id], `${name} ${id}`);
      if (id === "size") assert.ok(Math.abs(question.distribution.mean - mean[id]) < 1e-6, `${name} ${id}`);
      else assert.deepEqual(countsOf(question), Object.fromEntries(Object.entries(counts[id])), `${name} ${id}`);
    }
    const table = await computed("crosstab", [["rows", query.rows], ["columns", query.columns], ...parameters(query)]);
    const cells = table.rows.groups.flatMap((row, r) => table.columns.groups.map((column, c) => [`${row.id}|${column.id}`, table.cells[r][c]]));
    assert.equal(table.both, crosstab.both, name);
    assert.deepEqual(Object.fromEntries(cells.filter(([, count]) => count > 0)), crosstab.cells, name);
    const lines = (await exported(parameters(query))).split("\n").filter(Boolean);
    assert.equal(lines.length, responses, `the export of ${name}`);
  }
});
