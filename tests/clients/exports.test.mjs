// Every export, read by third-party libraries: pyarrow, openpyxl and Python's csv must return what the API lists.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { pythonService } from "./python.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const BINARY = process.env.SLUICE_BIN ?? resolve(import.meta.dirname, "../../target/debug/sluice");
const TOKEN = "token-of-the-client-tests-0123456789";
const parse = pythonService([join(import.meta.dirname, "exports.py")]);
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
  { id: "single", type: "singleChoice", prompt: "One?", options: [...OPTIONS, { id: "eq", label: "=Formula()" }], allowOther: true },
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
  // Have the same text.
  { id: "same", type: "shortText", prompt: "Same?" },
  { id: "again", type: "yesNo", prompt: "Same?" },
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
/** The questions of each version. */
const definitions = [QUESTIONS];

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "sluice-exports-"));
  app = await server.createApp("Exports");
  flow = await server.createFlow(app.appId, "Every question", { title: "One", questions: QUESTIONS });
  versions.push(flow.flowVersionId);
  await answerFirst();
  // The second version removes a question, renames one and an option of another, and adds one.
  const second = QUESTIONS.filter(({ id }) => id !== "drop").map((question) => {
    if (question.id === "nps") return { ...question, prompt: "How likely, now?" };
    if (question.id !== "single") return question;
    return { ...question, options: question.options.map((option) => (option.id === "form" ? { ...option, label: "The new form" } : option)) };
  });
  definitions.push([{ id: "added", type: "shortText", prompt: "New!" }, ...second]);
  await server.admin("PUT", `/flows/${flow.flowId}/draft`, { title: "Two", questions: definitions[1] });
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
    answers: { nps: "0", several: "api", number: "123456789012345678901234567890.5", single: "form", same: "x", again: "yes" },
    identities: [{ type: "userId", value: "nobody" }], metadata: { tags: { plan: ["free"] } },
  });
  await submit(versions[0], { answers: { single: "eq" } });
}

async function answerSecond() {
  await submit(versions[1], { answers: { single: "form" } });
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

/** The export as a file, and its HTTP reply. Without a choice, Excel has labels; most tests compare ids. */
async function exported(format, query = "") {
  if (format === "xlsx" && !query.includes("values=")) query += "&values=ids";
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
  return parse({ format, file });
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
    assert.equal(items.length, 4 + HOSTILE.length);
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

test("xlsx has no formulas, and the codebook as a second sheet", async () => {
  const { types } = await read("xlsx");
  assert.equal(types.formulas, 0);
  assert.deepEqual(types.questions, (await codebook()).map((line) => line.map((cell, at) => (at === 0 && /^\d+$/.test(cell) ? Number(cell) : cell || null))));
});

/** The lines of the codebook, by Python's csv. */
async function codebook() {
  const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export/codebook`, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal(reply.status, 200);
  assert.match(reply.headers.get("content-type"), /^text\/csv/);
  assert.match(reply.headers.get("content-disposition"), /^attachment; filename="every-question-codebook-\d{4}-\d\d-\d\d\.csv"$/);
  const file = join(folder, "codebook.csv");
  await writeFile(file, Buffer.from(await reply.arrayBuffer()));
  return parse({ format: "lines", file });
}

test("the codebook lists every question and option of every version", async () => {
  const [header, ...lines] = await codebook();
  assert.deepEqual(header, ["version", "flowVersionId", "column", "questionId", "type", "question", "part", "optionId", "label"]);
  const expected = [];
  for (const [at, version] of versions.entries()) {
    for (const question of definitions[at].filter(({ type }) => type !== "statement")) {
      const column = question.id === "version" ? "answer.version" : question.id;
      const begin = [String(at + 1), version, column, question.id, question.type, question.prompt];
      const words = { yesNo: [["yes", "Yes"], ["no", "No"]], consent: [["accepted", "Accepted"]] }[question.type] ?? [];
      const choices = [
        ...(question.options ?? []).map(({ id, label }) => ["option", id, label]), ...words.map(([id, label]) => ["option", id, label]),
        ...(question.rows ?? []).map(({ id, label }) => ["row", id, label]), ...(question.columns ?? []).map(({ id, label }) => ["column", id, label]),
      ];
      for (const choice of choices.length > 0 ? choices : [["", "", ""]]) expected.push([...begin, ...choice]);
    }
  }
  assert.deepEqual(lines, expected);
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

/** An answer with the labels of the version that it answers. */
function labelled(item, id) {
  const question = definitions[versions.indexOf(item.flowVersionId)].find((it) => it.id === id);
  const of = (choices, text) => choices.find((choice) => choice.id === text)?.label ?? text;
  const one = (text) => {
    if (question.type === "yesNo" || question.type === "consent") return text[0].toUpperCase() + text.slice(1);
    if (question.type === "matrix") return text.split(":").map((part, at) => of(at === 0 ? question.rows : question.columns, part)).join(": ");
    if (!question.options) return text;
    return text.startsWith("other:") ? `Other: ${text.slice(6)}` : of(question.options, text);
  };
  const answer = item.answers[id];
  return Array.isArray(answer) ? answer.map(one) : one(answer);
}

/** The name of a question with labels: its newest text, and its id if another column has the same name. */
function titleOf(id) {
  const newest = (at) => definitions.findLast((questions) => questions.some((question) => question.id === at)).find((question) => question.id === at).prompt;
  const ids = [...new Set(definitions.flat().filter(({ type }) => type !== "statement").map((question) => question.id))];
  const same = ids.filter((other) => newest(other) === newest(id));
  return same.length > 1 ? `${newest(id)} [${id}]` : newest(id);
}

for (const format of Object.keys(CELLS)) {
  test(`${format} with labels has the texts of questions and options, each of its own version`, async () => {
    const items = await listed();
    const { rows, types } = await read(format, "&values=labels");
    const expectedRows = items.map((item) => {
      const answers = Object.fromEntries(Object.keys(item.answers).map((id) => [id, labelled(item, id)]));
      const row = expected({ ...item, answers }, CELLS[format]);
      return Object.fromEntries(Object.entries(row).map(([name, cell]) => {
        const id = name === "answer.version" ? "version" : name;
        return [id in item.answers && name !== "version" ? titleOf(id) : name, cell];
      }));
    });
    assert.deepEqual(rows, expectedRows);
    assert.equal(new Set(types.columns).size, types.columns.length, "names are unique");
    assert.ok(types.columns.includes("How likely, now?") && types.columns.includes("Same? [same]") && types.columns.includes("Same? [again]"), types.columns.join());
    // A label of the first version and its later wording.
    assert.ok(rows.some((row) => row["One?"] === "Form") && rows.some((row) => row["One?"] === "The new form"));
    assert.ok(rows.some((row) => row["One?"] === "=Formula()"), "a label that looks like a formula is still a text");
  });
}

test("a cell with a label is not a formula either", async () => {
  const { file } = await exported("csv", "&values=labels");
  assert.match(await readFile(file, "utf8"), /,'=Formula\(\),/);
});

test("jsonl with labels has answers by the texts of their questions", async () => {
  const { file } = await exported("jsonl", "&values=labels");
  const lines = (await readFile(file, "utf8")).trim().split("\n").map((line) => JSON.parse(line));
  const expectedLines = (await listed()).map((item) => ({
    ...item, answers: Object.fromEntries(Object.keys(item.answers).map((id) => [titleOf(id), labelled(item, id)])),
  }));
  assert.deepEqual(lines, expectedLines);
});

test("Excel has labels by default, every other format has ids", async () => {
  for (const format of ["csv", "jsonl", "parquet", "xlsx"]) {
    const usual = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?format=${format}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const bytes = Buffer.from(await usual.arrayBuffer());
    if (format === "xlsx") {
      const file = join(folder, "usual.xlsx");
      await writeFile(file, bytes);
      const { types } = await parse({ format, file });
      assert.deepEqual(types.columns, (await read(format, "&values=labels")).types.columns);
    } else {
      const { file } = await exported(format, "&values=ids");
      assert.deepEqual(bytes, await readFile(file), format);
    }
  }
  const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?format=csv&values=words`, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.ok(reply.status === 422 || reply.status === 400, `${reply.status}`);
  assert.match(await reply.text(), /ids or labels/);
});

test("the command line writes labels and the codebook", async () => {
  const env = { PATH: process.env.PATH, SLUICE_TOKEN: TOKEN, SLUICE_SERVER: server.url };
  const out = join(folder, "labels.csv");
  await run(BINARY, ["responses", "export", flow.flowId, "--out", out, "--values", "labels"], { env });
  assert.deepEqual(await readFile(out), await readFile((await exported("csv", "&values=labels")).file));
  const book = join(folder, "by-command-codebook.csv");
  await run(BINARY, ["responses", "codebook", flow.flowId, "--out", book], { env });
  await codebook();
  assert.deepEqual(await readFile(book), await readFile(join(folder, "codebook.csv")));
});
