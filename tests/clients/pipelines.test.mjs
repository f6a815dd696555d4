// The recipes for pipelines, extracted from the guide and run unchanged on a folder that the command has written; and flow files, read by
// PyYAML.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { PYTHON, python } from "./python.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const BINARY = process.env.SLUICE_BIN ?? join(ROOT, "target/debug/sluice");
const GUIDE = await readFile(join(ROOT, "docs/exports.md"), "utf8");
const SECTION = GUIDE.split("\n## ").find((section) => section.startsWith("Pipelines\n"));
const RECIPES = [...SECTION.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code]) => code);
const READABLE_MS_MAX = 120_000;

let server;
let app;
let folder;
before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "sluice-pipelines-"));
  app = await server.createApp("Pipelines");
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

function sluice(...args) {
  const env = { PATH: process.env.PATH, SLUICE_SERVER: server.url, SLUICE_TOKEN: server.token };
  return run(BINARY, args, { cwd: folder, env });
}

async function submit(version, answers) {
  const body = { flowVersionId: version, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers };
  const reply = await fetch(`${app.base}/trpc/response.submit`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  assert.equal((await reply.json()).result?.data.success, true);
}

/** How many responses the files of a folder have, as DuckDB reads them. */
async function saved() {
  const count = "import duckdb, glob; print(duckdb.sql(\"SELECT count(*) FROM read_parquet('parquet/*/*.parquet', union_by_name = true)\").fetchall()[0][0]"
    + " if glob.glob('parquet/*/*.parquet') else 0)";
  return Number((await run(PYTHON, ["-c", count], { cwd: folder })).stdout);
}

test("the recipes of the guide read what a followed export has written", async () => {
  const nps = { id: "nps", type: "nps", prompt: "How likely?" };
  const why = { id: "why", type: "longText", prompt: "Why?" };
  const flow = await server.createFlow(app.appId, "Pipeline", { title: "One", questions: [nps] });
  for (const score of ["10", "8"]) await submit(flow.flowVersionId, { nps: score });
  await sluice("responses", "export", flow.flowId, "--follow", "parquet", "--format", "parquet", "--once");
  // A later version has one more question, so its files have one more column.
  await server.admin("PUT", `/flows/${flow.flowId}/draft`, { title: "Two", questions: [nps, why] });
  const { flowVersionId } = await server.admin("POST", `/flows/${flow.flowId}/publish`);
  for (const reason of ["slow", "slow", "it's \"odd\", größer"]) await submit(flowVersionId, { nps: "3", why: reason });
  const end = Date.now() + READABLE_MS_MAX;
  do {
    await sluice("responses", "export", flow.flowId, "--follow", "parquet", "--format", "parquet", "--once");
    assert.ok(Date.now() < end, "not everything was written in time");
  } while ((await saved()) < 5);
  await sluice("responses", "export", flow.flowId, "--follow", "responses", "--once");
  const days = (await readdir(join(folder, "responses"))).filter((name) => name.endsWith(".jsonl"));
  const lines = (await Promise.all(days.map((name) => readFile(join(folder, "responses", name), "utf8")))).join("").trimEnd().split("\n");
  assert.equal(lines.length, 5);

  assert.equal(RECIPES.length, 3, "every recipe of the guide is run");
  const outputs = [];
  for (const recipe of RECIPES) outputs.push((await run(PYTHON, ["-c", recipe], { cwd: folder })).stdout);
  assert.match(outputs[0], /│\s+5\s+│\s+5\.4\s+│/u);
  assert.match(outputs[1], /│ slow\s+│\s+2\s+│/u);
  assert.match(outputs[1], /│ it's "odd", größer\s+│\s+1\s+│/u);
  assert.match(outputs[2], /\s+5\s+5\.4/u);
});

test("a chain of exports over HTTP has each response once", async () => {
  const flow = await server.createFlow(app.appId, "Chain", { title: "T", questions: [{ id: "nps", type: "nps", prompt: "?" }] });
  const seen = new Set();
  let cursor = "2026-01-01T00:00:00Z";
  const end = Date.now() + READABLE_MS_MAX;
  for (let round = 0; seen.size < 12; round += 1) {
    if (round < 6) for (const score of ["1", "2"]) await submit(flow.flowVersionId, { nps: score });
    const reply = await fetch(`${server.url}/api/admin/v1/flows/${flow.flowId}/export?format=jsonl&after=${encodeURIComponent(cursor)}`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    assert.equal(reply.status, 200);
    const lines = (await reply.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
    cursor = reply.headers.get("x-next-cursor");
    assert.deepEqual(lines.pop(), { next: cursor });
    if (reply.headers.get("x-total-count") === "0") assert.equal(lines.length, 0);
    for (const { responseId } of lines) {
      assert.ok(!seen.has(responseId), "exported twice");
      seen.add(responseId);
    }
    assert.ok(Date.now() < end, "not everything became readable in time");
  }
});

test("flow files of the examples and of `flow pull` are read by PyYAML", async () => {
  const read = (file) => python(["-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1], encoding='utf-8'))))", file]);
  const examples = (await readdir(join(ROOT, "examples"))).filter((name) => name.endsWith(".yaml"));
  assert.ok(examples.length > 0);
  for (const name of examples) assert.equal(typeof JSON.parse(await read(join(ROOT, "examples", name))).title, "string");

  const odd = {
    flow: { key: "odd" }, title: "no", description: "Two\nlines: yes # no",
    questions: [
      { id: "a", type: "singleChoice", prompt: "2026-11-15", options: [{ id: "y", label: "on" }, { id: "n", label: "~" }] },
      { id: "b", type: "yesNo", prompt: "grün \u{1F600} \u2028 \"x\" \\ {{answer:a|none}}" },
    ],
  };
  await writeFile(join(folder, "odd.json"), JSON.stringify(odd));
  await sluice("flow", "apply", "odd.json", "--app", app.appId);
  await sluice("flow", "apply", join(ROOT, "examples/product-feedback.yaml"), "--app", app.appId).then(
    () => assert.fail("an example without a key cannot be applied"), ({ code }) => assert.equal(code, 3));
  await sluice("flow", "pull", "odd", "--app", app.appId, "--out", "pulled.yaml");
  await sluice("flow", "pull", "odd", "--app", app.appId, "--out", "pulled.json");
  const pulled = JSON.parse(await readFile(join(folder, "pulled.json"), "utf8"));
  assert.deepEqual(JSON.parse(await read(join(folder, "pulled.yaml"))), pulled);
  assert.equal(pulled.questions[1].prompt, odd.questions[1].prompt);
});
