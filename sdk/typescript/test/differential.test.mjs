// The local judgement of generated submissions against that of a real server: same issues, same
// score.
//
//   DIFFERENTIAL_CASES=100000 SEED=7 node --test test/differential.test.mjs
//
// A difference is reduced to a small case and printed with its seed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { lines } from "../../../tests/golden/judge/generate.mjs";
import { startServer } from "../../../tests/clients/server.mjs";
import { check, follow } from "../dist/check.js";

const CASES = Number(process.env.DIFFERENTIAL_CASES ?? 2_000);
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 32);
const DIFFERENCES_SHOWN_MAX = 3;

const COMMON = [
  "answer_required", "invalid_format", "invalid_selection", "invalid_type", "out_of_range", "too_long", "unknown_option", "unknown_question",
  "wrong_answer_kind",
];
const RARE = [
  "duplicate_user_id", "field_required", "invalid_value", "nested_tag", "not_answerable", "nul_character", "payload_generation_mismatch",
];

let server;
let app;
let procedure;
before(async () => {
  server = await startServer({ args: ["--rate-per-address", "0", "--bytes-per-address", "0", "--rate-per-app", "0"] });
  app = await server.createApp("Differential");
  // A server that does not validate yet stores instead; the judgement is the same.
  const { status } = await post("response.validate", [{}]);
  procedure = status === 404 ? "response.submit" : "response.validate";
});
after(() => server.stop());

async function post(name, inputs) {
  const reply = await fetch(`${app.base}/trpc/${inputs.map(() => name).join()}?batch=1`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ...inputs }),
  });
  return { status: reply.status, items: await reply.json() };
}

/** A snapshot of the definition, as a client fetches it. */
async function publish(definition) {
  const { flowVersionId } = await server.createFlow(app.appId, "Generated", definition);
  return (await fetch(`${app.base}/flow_versions/${flowVersionId}?payload=4`)).json();
}

async function remotely(snapshot, submissions) {
  const { items } = await post(procedure, submissions.map((it) => ({ ...it, flowVersionId: snapshot.flowVersionId })));
  return items.map(({ result, error }) => {
    if (error) return { error };
    const { success, errors, score } = result.data;
    return success ? { issues: [], score } : { issues: errors.issues };
  });
}

function locally(snapshot, submission) {
  const issues = check(snapshot, { ...submission, flowVersionId: snapshot.flowVersionId });
  return issues.length > 0 ? { issues: issues } : { issues, score: follow(snapshot, submission.answers ?? {}, true).score };
}

const differ = (one, other) => {
  try {
    assert.deepEqual(one, other);
    return false;
  } catch {
    return true;
  }
};

/** A smaller case that still differs: without answers, then without questions. */
async function reduced(definition, submission) {
  const differs = async (definition, submission) => {
    const snapshot = await publish(definition).catch(() => null);
    return snapshot && differ(locally(snapshot, submission), (await remotely(snapshot, [submission]))[0]);
  };
  const without = (object, key) => Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
  for (const id of Object.keys(submission.answers ?? {})) {
    const smaller = { ...submission, answers: without(submission.answers, id) };
    if (await differs(definition, smaller)) submission = smaller;
  }
  for (const name of ["endings", ...definition.questions.map(({ id }) => id)]) {
    const questions = definition.questions.filter(({ id }) => id !== name);
    const smaller = name === "endings" ? without(definition, name) : { ...definition, questions };
    if (await differs(smaller, submission)) definition = smaller;
  }
  return { definition, submission };
}

test(`${CASES} generated submissions are judged as by the server (seed ${SEED})`, async (t) => {
  t.diagnostic(`seed ${SEED}, ${procedure}`);
  const codes = new Map();
  const differences = [];
  let count = 0;
  for (const { definition, submissions } of lines(CASES, SEED)) {
    const snapshot = await publish(definition);
    const remote = await remotely(snapshot, submissions);
    for (const [at, submission] of submissions.entries()) {
      count++;
      const local = locally(snapshot, submission);
      for (const { code } of remote[at].issues ?? []) codes.set(code, (codes.get(code) ?? 0) + 1);
      if (remote[at].issues?.length === 0) codes.set("accepted", (codes.get("accepted") ?? 0) + 1);
      if (differ(local, remote[at])) differences.push({ definition, submission, local, remote: remote[at] });
      if (differences.length >= DIFFERENCES_SHOWN_MAX) break;
    }
    if (differences.length >= DIFFERENCES_SHOWN_MAX) break;
  }
  t.diagnostic(`${count} cases: ${[...codes].sort().map(([code, times]) => `${code} ${times}`).join(", ")}`);
  for (const difference of differences) {
    const small = await reduced(difference.definition, difference.submission);
    console.error(JSON.stringify({ seed: SEED, ...small, local: difference.local, remote: difference.remote }).slice(0, 5_000));
  }
  assert.equal(differences.length, 0);
  // The generator meets the rules from both sides; a short run may miss rare ones.
  if (CASES < 2_000) return;
  assert.ok(codes.get("accepted") > CASES / 10, "too few are accepted");
  for (const code of CASES < 50_000 ? COMMON : [...COMMON, ...RARE]) assert.ok(codes.has(code), `no case has ${code}`);
});
