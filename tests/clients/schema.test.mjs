// The JSON Schema of a version, evaluated by two independent validators, against the verdict of the server.
//
// For generated definitions and submissions, the schema must accept everything that `response.validate` accepts, and refuse what it
// refuses, except for the kinds that docs/api.md lists. SLUICE_SCHEMA_CASES sets their number and SLUICE_SEED repeats a run.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import Ajv from "ajv/dist/2020.js";

import { python } from "./python.mjs";
import { definition, random, submission } from "./schema-cases.mjs";
import { startServer } from "./server.mjs";

const CASES = Number(process.env.SLUICE_SCHEMA_CASES ?? 4000);
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const BATCH = 100;

let server, app;
before(async () => {
  server = await startServer({ env: { SLUICE_RATE_PER_KEY: "0", SLUICE_RATE_PER_ADDRESS: "0" } });
  app = await server.createApp("Schemas");
});
after(() => server?.stop());

const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);
const readsScore = (value) => JSON.stringify(value ?? null).includes('"score":true');

/** Whether only the score decides if a question is visible: by its own condition, or by the way to it. */
function dependsOnScore(questions, id) {
  const at = questions.findIndex((question) => question.id === id);
  const jumps = ({ next, visibleIf }) => next && (readsScore(next) || readsScore(visibleIf));
  return readsScore(questions[at].visibleIf) || questions.slice(0, at).some(jumps);
}

/** What a schema cannot express, as docs/api.md lists it; undefined for anything else. */
function documentedKind(issue, input, { questions }) {
  const [field, name] = issue.path;
  const question = field === "answers" ? questions.find(({ id }) => id === name) : undefined;
  if (issue.code === "answer_required" && dependsOnScore(questions, name)) return "depends on the score";
  if (issue.code === "invalid_format" && question?.type === "url") return "the host of a web address";
  if (issue.code === "invalid_format" && question?.type === "email" && !isAscii([input.answers[name]].flat()[0])) return "an e-mail address beyond ASCII";
  if (issue.code === "invalid_value" && field === "identities" && !isAscii(input.identities[name].value)) return "an e-mail address beyond ASCII";
  const items = input.identities?.map((it) => JSON.stringify(it)) ?? [];
  if (field === "identities" && ["too_long", "duplicate_user_id"].includes(issue.code) && new Set(items).size < items.length) return "repeated identities";
  if (issue.code === "too_long" && name === "tags" && Object.values(input.metadata.tags).includes(null)) return "tags that are null";
  return undefined;
}

/** A published flow: its definition, version, schema and submissions with the server's verdicts. */
async function generate(r) {
  for (;;) {
    const draft = definition(r);
    const published = await server.createFlow(app.appId, "Generated", draft).catch((error) => {
      if (!/\b422\b/.test(String(error))) throw error;
    });
    if (!published) continue;
    const { flowVersionId } = published;
    const schema = await (await fetch(`${app.base}/flow_versions/${flowVersionId}/schema?payload=4`)).json();
    const inputs = Array.from({ length: BATCH }, () => submission(r, flowVersionId, draft));
    const reply = await fetch(`${app.base}/trpc/${Array(BATCH).fill("response.validate").join(",")}?batch=1`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...inputs }),
    });
    const verdicts = (await reply.json()).map((item) => item.result?.data ?? assert.fail(JSON.stringify(item)));
    return { draft, schema, inputs, verdicts };
  }
}

test(`schema and server agree on ${CASES} generated submissions`, async (context) => {
  context.diagnostic(`SLUICE_SEED=${SEED}`);
  const r = random(SEED);
  const flows = [];
  while (flows.length * BATCH < CASES) flows.push(await generate(r));
  const lines = flows.map(({ schema, inputs }) => JSON.stringify({ schema, inputs })).join("\n");
  const judgedByPython = (await python([join(import.meta.dirname, "schema.py")], lines, { timeout: 180_000 + CASES * 30 })).split("\n").map((line) => JSON.parse(line));
  const kinds = new Map();
  let accepted = 0;
  for (const [at, { draft, schema, inputs, verdicts }] of flows.entries()) {
    const validate = new Ajv({ strict: false }).compile(schema);
    for (const [index, input] of inputs.entries()) {
      const { success, errors } = verdicts[index];
      const byAjv = validate(input);
      const about = () => `SLUICE_SEED=${SEED}: ${JSON.stringify({ input, errors, byAjv: validate.errors, draft })}`;
      assert.equal(judgedByPython[at][index], byAjv, `the validators differ. ${about()}`);
      accepted += success;
      if (success) assert.ok(byAjv, `accepted by the server, refused by the schema. ${about()}`);
      else if (byAjv) {
        const found = errors.issues.map((issue) => documentedKind(issue, input, draft));
        assert.ok(found.every(Boolean), `refused by the server, accepted by the schema. ${about()}`);
        found.forEach((kind) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1));
      }
    }
  }
  const total = flows.length * BATCH;
  context.diagnostic(`${total} submissions to ${flows.length} flows: ${accepted} accepted; not expressible: ${JSON.stringify(Object.fromEntries(kinds))}`);
  assert.ok(accepted > total / 20 && accepted < (total * 19) / 20, `${accepted} of ${total} were accepted: the cases are too uniform`);
});

test("a schema is cached like its snapshot, and the admin API has the same", async () => {
  const { flowVersionId } = await server.createFlow(app.appId, "Cached", { title: "t", questions: [{ id: "n", type: "nps", prompt: "?" }] });
  const url = `${app.base}/flow_versions/${flowVersionId}/schema?payload=4`;
  const reply = await fetch(url);
  assert.equal(reply.headers.get("content-type"), "application/schema+json");
  const again = await fetch(url, { headers: { "if-none-match": reply.headers.get("etag") } });
  assert.equal(again.status, 304);
  const schema = await reply.json();
  assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
  assert.deepEqual(await server.admin("GET", `/flow_versions/${flowVersionId}/schema?payload=4`), schema);
});
