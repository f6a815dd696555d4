// Retries: which replies are repeated, how long a call waits, and that all attempts of a call share
// one key.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createSluice, SluiceError } from "../dist/index.js";

const SUBMISSION = { flowVersionId: "fv_1", flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only" };
const ACCEPTED = { result: { data: { success: true, responseId: "rs_1" } } };

const reply = (status, body, headers = {}) => () => new Response(JSON.stringify(body), { status, headers });
const lost = () => {
  throw new TypeError("fetch failed");
};

/** A client whose replies are listed; its calls and waits are recorded. */
function client(replies, options = {}) {
  const calls = [];
  const waits = [];
  const sluice = createSluice({
    baseUrl: "https://feedback.example/", apiKey: "pk_1",
    fetch: async (url, init) => {
      calls.push({ url: String(url), ...init, body: init.body && JSON.parse(init.body) });
      return replies[Math.min(calls.length, replies.length) - 1](init);
    },
    wait: async (ms) => void waits.push(ms),
    ...options,
  });
  return { sluice, calls, waits };
}

test("the paths, the method and the body are those of the API", async () => {
  const { sluice, calls } = client([reply(200, { flowVersionId: "fv_1" }), reply(200, { questions: [] }), reply(200, ACCEPTED), reply(200, ACCEPTED)]);
  await sluice.resolve("fl_1");
  await sluice.fetch("fv_1");
  await sluice.submit({ ...SUBMISSION, idempotencyKey: "own" });
  await sluice.validate(SUBMISSION);
  const base = "https://feedback.example/api/v1/pk_1";
  assert.deepEqual(calls.map(({ method = "GET", url }) => `${method} ${url}`), [
    `GET ${base}/flows/fl_1`, `GET ${base}/flow_versions/fv_1?payload=4`, `POST ${base}/trpc/response.submit`, `POST ${base}/trpc/response.validate`,
  ]);
  assert.equal(calls[2].headers["content-type"], "application/json");
  assert.deepEqual(calls[2].body, { ...SUBMISSION, idempotencyKey: "own" });
  assert.deepEqual(calls[3].body, SUBMISSION);
});

test("a lost connection, 429 and 5xx are repeated with one idempotency key per call", async () => {
  const { sluice, calls, waits } = client([lost, reply(503, {}), reply(429, {}), reply(502, "no JSON"), reply(200, ACCEPTED)]);
  assert.deepEqual(await sluice.submit(SUBMISSION), { success: true, responseId: "rs_1" });
  const keys = calls.map(({ body }) => body.idempotencyKey);
  assert.equal(keys.length, 5);
  assert.match(keys[0], /^[\w-]{20,}$/);
  assert.equal(new Set(keys).size, 1);
  await sluice.submit(SUBMISSION);
  assert.notEqual(calls.at(-1).body.idempotencyKey, keys[0]);
  // Jitter is between nothing and twice the last bound.
  waits.forEach((ms, at) => assert.ok(ms >= 0 && ms <= 250 * 2 ** (at + 1), `${at}: ${ms}`));
});

test("Retry-After is honoured, in seconds or as a date, and a long one fails at once", async () => {
  // Of the moment of the reply, so that it is as far away on a slow machine.
  const soon = () => reply(503, {}, { "retry-after": new Date(Date.now() + 20_000).toUTCString() })();
  const { sluice, waits } = client([reply(503, {}, { "retry-after": "7" }), soon, reply(200, ACCEPTED)]);
  await sluice.submit(SUBMISSION);
  assert.ok(waits[0] >= 7_000 && waits[0] <= 7_500, String(waits[0]));
  assert.ok(waits[1] > 15_000 && waits[1] <= 21_000, String(waits[1]));
  const error = { message: "The daily quota is used up.", code: -32029, data: { code: "TOO_MANY_REQUESTS", httpStatus: 429, reason: "daily_quota_reached" } };
  const quota = client([reply(429, { error }, { "retry-after": "3600", "x-request-id": "r1" })]);
  await assert.rejects(quota.sluice.submit(SUBMISSION), (thrown) => {
    assert.ok(thrown instanceof SluiceError);
    const { name, status, code, retryAfterMs, requestId, message } = thrown;
    assert.deepEqual({ name, status, code, retryAfterMs, requestId, message }, {
      name: "SluiceError", status: 429, code: "daily_quota_reached", retryAfterMs: 3_600_000, requestId: "r1", message: "The daily quota is used up.",
    });
    return true;
  });
  assert.equal(quota.calls.length, 1);
});

test("attempts end, and other errors are not repeated", async () => {
  const down = client([lost], { attempts: 3 });
  await assert.rejects(down.sluice.resolve("fl_1"), { status: 0, code: "network" });
  assert.equal(down.calls.length, 3);
  const missing = client([reply(404, { code: "flow_not_found", detail: "There is no such flow." })]);
  await assert.rejects(missing.sluice.resolve("fl_1"), { status: 404, code: "flow_not_found", message: "There is no such flow." });
  assert.equal(missing.calls.length, 1);
});

test("statuses of 500 and more are repeated except 501 and 505, and so are 408, 425 and 429", async () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504, 507, 520, 529, 599]) {
    const { sluice, calls } = client([reply(status, {}), reply(200, ACCEPTED)]);
    assert.equal((await sluice.submit(SUBMISSION)).success, true);
    assert.equal(calls.length, 2, String(status));
  }
  for (const status of [400, 404, 409, 413, 501, 505]) {
    const { sluice, calls } = client([reply(status, {})]);
    await assert.rejects(sluice.submit(SUBMISSION), { name: "SluiceError", status });
    assert.equal(calls.length, 1, String(status));
  }
});

test("every error is a SluiceError whose message names the remedy", async () => {
  for (const baseUrl of ["feedback.example.com", "", "ftp://x", undefined]) {
    assert.throws(() => createSluice({ baseUrl, apiKey: "pk_1" }), { name: "SluiceError", code: "base_url", message: /must start with https:\/\// });
  }
  // A page of a proxy, and replies of another shape.
  const page = () => new Response("<html>", { status: 200 });
  for (const other of [page, reply(200, null), reply(200, []), reply(200, "text"), reply(200, { result: null })]) {
    for (const made of [(it) => it.resolve("fl_1"), (it) => it.fetch("fv_1"), (it) => it.submit(SUBMISSION), (it) => it.start("fl_1")]) {
      const { sluice, calls } = client([other]);
      await assert.rejects(made(sluice), { name: "SluiceError", status: 200, code: "reply", message: /check baseUrl/ });
      assert.equal(calls.length, 1);
    }
  }
  for (const body of [null, "text", { error: "text" }, { error: { data: null } }]) {
    await assert.rejects(client([reply(400, body)]).sluice.submit(SUBMISSION), { name: "SluiceError", status: 400, code: "http" });
  }
  const failing = client([reply(200, ACCEPTED)], { getToken: () => Promise.reject(new Error("no session")) });
  await assert.rejects(failing.sluice.submit(SUBMISSION), { name: "SluiceError", code: "token", message: /^getToken failed; nothing was sent: Error: no session$/ });
  assert.equal(failing.calls.length, 0);
});

test("an error of submit has the key with which the call is repeated", async () => {
  const { sluice, calls } = client([lost, lost, reply(200, ACCEPTED)], { attempts: 2 });
  const error = await sluice.submit(SUBMISSION).catch((error) => error);
  assert.equal(error.idempotencyKey, calls[0].body.idempotencyKey);
  await sluice.submit({ ...SUBMISSION, idempotencyKey: error.idempotencyKey });
  assert.equal(new Set(calls.map(({ body }) => body.idempotencyKey)).size, 1);
});

test("a refused token is asked for once more", async () => {
  const asked = [];
  const getToken = async (isRetry) => (asked.push(isRetry), isRetry ? "new" : "old");
  const refusal = reply(401, { code: "token_expired", detail: "The token has expired." });
  const renewed = client([refusal, reply(200, ACCEPTED)], { getToken });
  await renewed.sluice.submit(SUBMISSION);
  assert.deepEqual(renewed.calls.map(({ headers }) => headers.authorization), ["Bearer old", "Bearer new"]);
  assert.deepEqual(asked, [false, true]);
  const refused = client([refusal], { getToken });
  await assert.rejects(refused.sluice.submit(SUBMISSION), { status: 401, code: "token_expired" });
  assert.equal(refused.calls.length, 2);
  const single = client([refusal, reply(200, ACCEPTED)], { getToken, attempts: 1 });
  assert.equal((await single.sluice.submit(SUBMISSION)).success, true, "one attempt does not forbid a new token");
  const without = client([refusal]);
  await assert.rejects(without.sluice.submit(SUBMISSION), { status: 401 });
  assert.equal(without.calls.length, 1);
});

test("an aborted call ends with an error that has the reason, also while it waits", async () => {
  const aborter = new AbortController();
  // The wait of a minute ends with the call.
  const { sluice } = client([], { wait: undefined, fetch: async (url, { signal }) => {
    signal.throwIfAborted();
    setTimeout(() => aborter.abort(new Error("closed")), 1);
    return new Response("{}", { status: 503, headers: { "retry-after": "59" } });
  } });
  const aborted = { name: "SluiceError", status: 0, code: "aborted", message: "Aborted; call again: Error: closed", cause: new Error("closed") };
  await assert.rejects(sluice.submit(SUBMISSION, { signal: aborter.signal }), aborted);
  await assert.rejects(sluice.submit(SUBMISSION, { signal: aborter.signal }), aborted);
});

test("an attempt without a reply ends by its timeout, and is repeated", async () => {
  const never = ({ signal }) => new Promise((_, reject) => {
    // Like a pending connection, it keeps the process alive.
    const alive = setInterval(() => {}, 1_000);
    signal.addEventListener("abort", () => (clearInterval(alive), reject(signal.reason)));
  });
  const { sluice, calls } = client([never, reply(200, ACCEPTED)], { timeoutMs: 5 });
  assert.equal((await sluice.submit(SUBMISSION)).success, true);
  assert.equal(calls.length, 2);
});

test("a token that never comes ends with its attempt, and the attempt is repeated", async () => {
  let asked = 0;
  const getToken = () => (asked++ ? "late" : new Promise(() => {}));
  // A promise that never settles does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  const { sluice, calls } = client([reply(200, ACCEPTED)], { timeoutMs: 5, getToken });
  assert.equal((await sluice.submit(SUBMISSION)).success, true);
  assert.deepEqual(calls.map(({ headers }) => headers.authorization), ["Bearer late"]);
  const never = client([], { timeoutMs: 5, attempts: 2, getToken: () => new Promise(() => {}) });
  await assert.rejects(never.sluice.submit(SUBMISSION), { status: 0, code: "network", message: /getToken timeout$/ });
  assert.equal(never.waits.length, 1);
  const aborter = new AbortController();
  const aborted = client([], { getToken: () => new Promise(() => setTimeout(() => aborter.abort("closed"), 1)) });
  await assert.rejects(aborted.sluice.submit(SUBMISSION, { signal: aborter.signal }), { code: "aborted", cause: "closed" });
  assert.equal(never.calls.length + aborted.calls.length, 0);
  clearInterval(alive);
});
