// Every export, read by third-party libraries: pyarrow, openpyxl and Python's csv must return what the API lists.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { python } from "./python.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const BINARY = process.env.SLUICE_BIN ?? resolve(import.meta.dirname, "../../target/debug/sluice");
const TOKEN = "token-of-the-client-tests-0123456789";
const OPTIONS = [{ id: "api", label: "API" }, { id: "form", label: "Form" }];

/** One question of every type there is; questions that differ between versions are named by their use. */
const QUESTIONS = [
  { id: "short", type: "shortText", prompt: "Short?" },
  { id: "long", type: "longText", prompt: "Long?", maxLength: 16384 },
  { id: "mail", type: "email", prompt: "Mail?" },
  { id: "site", type: "url", prompt: "Site?" },
  { id: "phone", type: "phone", prompt: "Phone?" },
  { id: "number", type: "number", prompt: "Number?" },
  { id: "date", type: "date", prompt: "Date?" },
  { id: "single", type: "singleChoice", prompt: "One?", options: OPTIONS, allowOther: true },
  { id: "drop", type: "dropdown", prompt: "Drop?", options: OPTIONS },
  { id: "several", type: "multipleChoice", prompt: "Several?", options: OPTIONS, allowOther: true },
  { id: "rank", type: "ranking", prompt: "Rank?", options: OPTIONS },
  { id: "grid", type: "matrix", prompt: "Grid?", rows: OPTIONS, columns: [{ id: "good", label: "Good" }, { id: "bad", label: "Bad" }] },
  { id: "stars", type: "rating", prompt: "Stars?", max: 5 },
  { id: "nps", type: "nps", prompt: "NPS?" },
  { id: "yes", type: "yesNo", prompt: "Yes?" },
  { id: "agree", type: "consent", prompt: "Agree?" },
  { id: "note", type: "statement", prompt: "Just so you know." },
  // Has the name of a built-in column.
  { id: "version", type: "shortText", prompt: "Which version of the app?" },
];
const LISTS = new Set(["several", "rank", "grid"]);
const NUMBERS = new Set(["number", "stars", "nps"]);

const HOSTILE = [
  "=HYPERLINK(\"http://evil.example\",\"x\")", "+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x", "'quoted'", ",", "\"",
  "a\nb\r\nc", "a;b\\;c\\", "hi;=1+1", "x\n@y\t-z", ";'=1;''+2", "\t=1\r=2", "مرحبا \u202Eabc", "日本語 😀 é e\u0301", "\u0001\u001F control", "_x0041_", " lead and trail ",
  "<b>&amp;</b>]]>", "NULL", "0012", "1e5", "TRUE", "x".repeat(8000),
];

let server;
let app;
let flow;
let folder;
const versions = [];

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "sluice-exports-"));
  app = await server.createApp("Exports");
  flow = await server.createFlow(app.appId, "Every question", { title: "One", questions: QUESTIONS });
  versions.push(flow.flowVersionId);
  await answerFirst();
  // The second version removes a question, renames one, and adds one.
  const second = QUESTIONS.filter(({ id }) => id !== "drop").map((question) =>
    question.id === "nps" ? { ...question, prompt: "How likely, now?" } : question);
  await server.admin("PUT", `/flows/${flow.flowId}/draft`, { title: "Two", questions: [{ id: "added", type: "shortText", prompt: "New!" }, ...second] });
  versions.push((await server.admin("POST", `/flows/${flow.flowId}/publish`)).flowVersionId);
  await answerSecond();
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function submit(version, more) {
  const body = {
    flowVersionId: version, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: {}, ...more,
  };
  const reply = await fetch(`${app.base}/trpc/response.submit`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  const { result } = await reply.json();
  assert.equal(result?.data.success, true, JSON.stringify(result));
}

async function answerFirst() {
  const whole = {
    short: "plain", long: "Long\ntext, with \"quotes\"", mail: "a@b.example", site: "https://a.example/?q=1", phone: "+49 30 1234567",
    number: "-12.50", date: "2026-02-28", single: "other:my, own", drop: "form", several: ["api", "other:=a;b\\c"],
    rank: ["form", "api"], grid: ["api:good", "form:bad"], stars: "4", nps: "10", yes: "no", agree: "accepted", version: "7",
  };
  await submit(versions[0], {
    answers: whole, respondentAnalyticsAdmission: "admitted",
    identities: [{ type: "userId", value: "=u1" }, { type: "traits.email", value: "u@mail.example" }, { type: "traits.team", value: "red" }],
    metadata: { tags: { plan: "pro", team: ["a", "b;c"], "größe, cm": "=9" } },
    context: { locale: "de-AT", page: { path: "/a,b", referrer: "https://r.example", search: "?q=1" }, userAgent: "Mozilla/5.0 \"x\"" },
    flowAssignmentId: "-mine",
  });
  await submit(versions[0], {
    answers: { nps: "0", several: "api", number: "123456789012345678901234567890.5" },
    identities: [{ type: "userId", value: "nobody" }], metadata: { tags: { plan: ["free"] } },
  });
  await submit(versions[0]);
}

async function answerSecond() {
  for (const text of HOSTILE) {
    await submit(versions[1], { answers: { added: text, long: text, single: `other:${text.slice(0, 900)}`, several: [`other:${text.slice(0, 900)}`] }, metadata: { tags: { hostile: text.slice(0, 500) } } });
  }
}

async function listed(query = "") {
  const items = [];
  let after = "";
  for (;;) {
    const page = await server.admin("GET", `/flows/${flow.flowId}/responses?limit=7${after}${query}`);
    items.push(...page.items);
    if (!page.next) return items;
    after = `&after=${page.next}`;
  }
}

/** The export as a file, and its HTTP reply. */
async function exported(format, query = "") {
  const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?format=${format}${query}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.equal(reply.status, 200);
  const file = join(folder, `export.${format}`);
  await writeFile(file, Buffer.from(await reply.arrayBuffer()));
  return { file, reply };
}

async function read(format, query) {
  const { file } = await exported(format, query);
  return JSON.parse(await python([join(import.meta.dirname, "exports.py"), format, file]));
}

const joined = (texts) => texts.map((text) => text.replace(/[;\\]/g, "\\$&")).join(";");

/** The expected row of a response; `cell` converts a list, number, date or flag to the format. */
function expected(item, cell) {
  const version = versions.indexOf(item.flowVersionId) + 1;
  const row = {
    responseId: item.responseId, receivedAt: item.receivedAt, flowVersionId: item.flowVersionId, version: cell.whole(version),
    respondentAnalyticsAdmission: item.respondentAnalyticsAdmission, identityVerified: cell.flag(item.identityVerified),
  };
  if (item.respondentId) row.respondentId = item.respondentId;
  if (item.flowAssignmentId) row.flowAssignmentId = item.flowAssignmentId;
  const more = [];
  for (const { type, value } of item.identities) {
    if (type === "userId" || type === "traits.email") row[`identities.${type}`] = value;
    else more.push({ type, value });
  }
  if (more.length > 0) row["identities.other"] = JSON.stringify(more);
  for (const [id, answer] of Object.entries(item.answers)) {
    const name = id === "version" ? "answer.version" : id;
    if (LISTS.has(id)) row[name] = cell.list([answer].flat());
    else if (NUMBERS.has(id)) row[name] = cell.number(answer);
    else row[name] = answer;
  }
  for (const [name, value] of Object.entries(item.metadata.tags)) row[`tag.${name}`] = cell.list([value].flat());
  const { page = {}, ...context } = item.context;
  for (const [name, value] of Object.entries(context)) row[`context.${name}`] = value;
  for (const [name, value] of Object.entries(page)) row[`context.page.${name}`] = value;
  return row;
}

const CELLS = {
  csv: { whole: String, flag: String, number: (text) => text, list: joined },
  parquet: { whole: Number, flag: Boolean, number: Number, list: (texts) => texts },
  xlsx: { whole: Number, flag: Boolean, number: (text) => (text.replace(/\D/g, "").length > 15 ? text : Number(text)), list: joined },
};

for (const format of Object.keys(CELLS)) {
  test(`${format} contains what the API lists, in the same columns`, async () => {
    const items = await listed();
    assert.equal(items.length, 3 + HOSTILE.length);
    const { rows, types } = await read(format);
    assert.deepEqual(rows, items.map((item) => expected(item, CELLS[format])));
    const questions = [...QUESTIONS.map(({ id }) => id).filter((id) => id !== "note"), "added"];
    assert.deepEqual(types.columns, [
      "responseId", "receivedAt", "flowVersionId", "version", "respondentAnalyticsAdmission", "respondentId", "identityVerified",
      "identities.userId", "identities.traits.email", "identities.other", "flowAssignmentId",
      ...questions.map((id) => (id === "version" ? "answer.version" : id)),
      "tag.größe, cm", "tag.hostile", "tag.plan", "tag.team", "tags.other",
      "context.locale", "context.page.path", "context.page.referrer", "context.page.search", "context.userAgent",
    ]);
  });
}

test("a line of jsonl is an item of the API's list", async () => {
  const { file, reply } = await exported("jsonl");
  const lines = (await readFile(file, "utf8")).split("\n");
  assert.equal(lines.pop(), "");
  assert.deepEqual(lines.map((line) => JSON.parse(line)), await listed());
  assert.equal(reply.headers.get("x-total-count"), String(lines.length));
  assert.match(reply.headers.get("content-disposition"), /^attachment; filename="every-question-\d{4}-\d\d-\d\d\.jsonl"$/);
});

test("parquet has types, and the texts of the questions in its metadata", async () => {
  const { types } = await read("parquet");
  const of = (name) => types.types[name];
  assert.equal(of("receivedAt"), "timestamp[ms, tz=UTC]");
  assert.equal(of("version"), "int32");
  assert.equal(of("date"), "date32[day]");
  assert.equal(of("nps"), "double");
  assert.equal(of("several"), "list<element: string not null>");
  assert.equal(of("identityVerified"), "bool");
  assert.equal(of("drop"), "string");
  const nps = types.questions.find(({ id }) => id === "nps");
  assert.deepEqual(nps, { column: "nps", id: "nps", type: "nps", prompt: "How likely, now?", lastAskedInVersion: 2 });
  assert.equal(types.questions.find(({ id }) => id === "drop").lastAskedInVersion, 1);
});

test("xlsx has a sheet of questions, and no formulas", async () => {
  const { types } = await read("xlsx");
  assert.equal(types.formulas, 0);
  assert.deepEqual(types.questions[0], ["Column", "Question id", "Type", "Text", "Last asked in version"]);
  assert.ok(types.questions.some((line) => line.join() === "answer.version,version,shortText,Which version of the app?,2"));
});

test("anonymous responses contain no identities, in any format", async () => {
  for (const format of ["csv", "jsonl", "parquet", "xlsx"]) {
    const { file } = await exported(format, "&admission=collection_only");
    const bytes = (await readFile(file)).toString("latin1");
    assert.ok(!bytes.includes("nobody") && !bytes.includes("u@mail.example"), format);
  }
});

test("the filters are the same as those of the list", async () => {
  for (const query of [`&version=${versions[1]}`, "&answer.nps=10", "&search=LONG%20quotes", "&tag.plan=free", "&admission=admitted", "&answer.single=other"]) {
    const ids = (await listed(query)).map(({ responseId }) => responseId);
    assert.ok(ids.length > 0, query);
    for (const format of Object.keys(CELLS)) {
      assert.deepEqual((await read(format, query)).rows.map(({ responseId }) => responseId), ids, `${format} ${query}`);
    }
  }
});

test("the command line writes the same file, and leaves no partial file", async () => {
  const env = { PATH: process.env.PATH, SLUICE_TOKEN: TOKEN, SLUICE_SERVER: server.url };
  const out = join(folder, "by-command.csv");
  const { stderr } = await run(BINARY, ["responses", "export", flow.flowId, "--out", out, "--version", versions[0]], { env });
  assert.match(stderr, /3 responses exported/);
  const { file } = await exported("csv", `&version=${versions[0]}`);
  assert.deepEqual(await readFile(out), await readFile(file));
  const { stdout } = await run(BINARY, ["responses", "export", flow.flowId, "--format", "jsonl", "--out", "-", "--answer", "nps=10"], { env });
  assert.equal(stdout.trim().split("\n").length, 1);
  const lost = join(folder, "lost.csv");
  const refused = await run(BINARY, ["responses", "export", flow.flowId, "--out", lost], { env: { ...env, SLUICE_TOKEN: "wrong" } }).catch((error) => error);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /token/);
  const usage = await run(BINARY, ["responses", "export", flow.flowId, "--out", lost, "--tag", "plan"], { env }).catch((error) => error);
  assert.equal(usage.code, 2);
  assert.ok(!(await readdir(folder)).some((name) => name.startsWith("lost") || name.endsWith(".part")));
});

test("questions can be headings in formats for people, and in no others", async () => {
  const byId = (await read("csv")).types.columns;
  for (const format of ["csv", "xlsx"]) {
    const { rows, types } = await read(format, "&headings=texts");
    assert.equal(types.columns.length, byId.length, format);
    const at = byId.indexOf("nps");
    assert.equal(types.columns[at], "How likely, now? [nps]", format);
    assert.equal(types.columns[byId.indexOf("answer.version")], "Which version of the app? [version]", format);
    assert.equal(types.columns[0], "responseId", format);
    assert.equal(String(rows[0]["How likely, now? [nps]"]), "10", format);
  }
  for (const query of ["format=jsonl&headings=texts", "format=parquet&headings=texts", "format=csv&headings=words"]) {
    const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?${query}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.ok(reply.status === 422 || reply.status === 400, `${query}: ${reply.status}`);
    assert.match(await reply.text(), /headings/, query);
  }
});
