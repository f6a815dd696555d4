// Clients with the superjson transformer, over every HTTP link of both tRPC majors: accepted calls are
// stored and reported as such, and clients can read refusals and errors.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import superjson, { SuperJSON } from "superjson";

import { startServer } from "./server.mjs";
import * as v10 from "./v10/links.mjs";
import * as v11 from "./v11/links.mjs";

const OPTIONS = [
  { id: "api", label: "The API" },
  { id: "console", label: "The console" },
];
const DEFINITION = {
  title: "Answered through superjson",
  questions: [
    { id: "why", type: "longText", prompt: "Why?" },
    { id: "use", type: "multipleChoice", prompt: "What do you use?", options: OPTIONS },
    { id: "like", type: "multipleChoice", prompt: "What do you like?", options: OPTIONS },
  ],
};
const LONG = { why: "x".repeat(16_000) };
const ANSWERS = { why: "Größe, 大きさ, 🦦", use: ["api", "console"] };

let server;
// A server where an address that has used its first MiB gets one more byte per second: no long call fits for hours.
let strict;
let strictApp;
const ADDRESS = { "x-forwarded-for": "203.0.113.7" };
let app;
let flow;
before(async () => {
  strict = await startServer({ args: ["--bytes-per-address", "1", "--trusted-proxies", "127.0.0.1/32"] });
  strictApp = await strict.createApp("strict");
  await fetch(`${strictApp.base}/trpc/response.submit`, {
    method: "POST",
    headers: { "content-type": "application/json", ...ADDRESS },
    body: " ".repeat(1 << 20),
  });
  server = await startServer();
  app = await server.createApp("superjson");
  flow = await server.createFlow(app.appId, "superjson", DEFINITION);
});
after(() => Promise.all([server?.stop(), strict?.stop()]));

for (const major of [v10, v11]) {
  for (const kind of major.links) {
    describe(`${major.name} ${kind.name} with superjson`, () => {
      const client = (url, transformer = superjson, headers = {}) => {
        const options = { url: `${url}/trpc`, transformer, headers };
        return major.client(kind.link, options).response.submit;
      };
      const submit = (input, transformer) => client(app.base, transformer).mutate(input);

      test("a valid submission resolves to success and is stored", async () => {
        await assertStored(await submit(submission(ANSWERS)), ANSWERS);
      });

      test("undefined means absent", async () => {
        const input = { ...submission({ ...ANSWERS, like: undefined }), metadata: undefined, context: undefined };
        await assertStored(await submit(input), ANSWERS);
      });

      test("an object that occurs twice is stored twice, with dedupe and without", async () => {
        const use = ["api"];
        for (const dedupe of [false, true]) {
          const answers = { use, like: use };
          const output = await submit(submission(answers), new SuperJSON({ dedupe }));
          await assertStored(output, answers);
          const shared = { draft: { use }, ...submission(answers) };
          await assertStored(await submit(shared, new SuperJSON({ dedupe })), answers);
        }
      });

      test("a refusal resolves to its issues", async () => {
        const output = await submit({ ...submission(ANSWERS), flowVersionId: "fv_unknown" });
        assert.equal(output.success, false);
        assert.deepEqual(output.errors.formErrors, ["Flow version not found"]);
      });

      test("a type that JSON lacks is refused by name, and nothing is stored", async () => {
        const before = await count();
        for (const [why, type] of [[new Date(0), "Date"], [5n, "bigint"], [new Set(["a"]), "set"], [new Map(), "map"]]) {
          const output = await submit(submission({ why }));
          assert.equal(output.success, false);
          const [issue] = output.errors.issues;
          assert.equal(issue.code, "invalid_type");
          assert.deepEqual(issue.path, ["answers", "why"]);
          assert.match(issue.message, new RegExp(`^answers.why is a superjson "${type}"`));
        }
        assert.equal(await count(), before);
      });

      test("a call without input is refused with its reason", async () => {
        const output = await submit(undefined);
        assert.equal(output.success, false);
        assert.match(output.errors.formErrors[0], /nothing was sent/);
      });

      test("concurrent calls are validated separately", async () => {
        const submit = client(app.base);
        const [first, refused, third] = await Promise.all([
          submit.mutate(submission(ANSWERS)),
          submit.mutate(submission({ nope: "1" })),
          submit.mutate(submission({ use: ["api"] })),
        ]);
        await assertStored(first, ANSWERS);
        assert.equal(refused.success, false);
        await assertStored(third, { use: ["api"] });
      });

      test("an unknown key is an UNAUTHORIZED error that the client can read", async () => {
        const stranger = client(`${server.url}/api/v1/pk_0000000000000000000000`);
        const inputs = [submission(ANSWERS), submission(ANSWERS)];
        for (const { reason } of await Promise.allSettled(inputs.map((input) => stranger.mutate(input)))) {
          assert.ok(reason instanceof major.TRPCClientError, String(reason));
          assert.equal(reason.message, "The API key is unknown or revoked.");
          assert.equal(reason.data.code, "UNAUTHORIZED");
          assert.equal(reason.data.httpStatus, 401);
        }
      });

      test("a call beyond a rate limit is a TOO_MANY_REQUESTS error that the client can read", async () => {
        const inputs = [submission(LONG), submission(LONG)];
        const submit = client(strictApp.base, superjson, ADDRESS);
        for (const { reason } of await Promise.allSettled(inputs.map((input) => submit.mutate(input)))) {
          assert.ok(reason instanceof major.TRPCClientError, String(reason));
          assert.match(reason.message, /^Too many bytes come from this address\./);
          assert.equal(reason.data.code, "TOO_MANY_REQUESTS");
          assert.equal(reason.data.httpStatus, 429);
          assert.equal(reason.data.reason, "rate_limited");
        }
      });

      test("a body that is too large is an error, not a success", async () => {
        const submit = client(app.base).mutate(submission({ why: "x".repeat(3 << 20) }));
        // The input was not read, so the reply is plain, and the client cannot read it: docs/trpc.md, superjson.
        await assert.rejects(submit, (error) => {
          assert.ok(error instanceof major.TRPCClientError, String(error));
          assert.equal(error.data, undefined);
          const isStream11 = kind.name === "httpBatchStreamLink";
          assert.equal(error.message, isStream11 ? "Cannot convert undefined or null to object" : "Unable to transform response from server");
          const status = kind.name.includes("Stream") ? 200 : 413;
          assert.equal(error.meta?.response.status, isStream11 ? undefined : status);
          return true;
        });
      });
    });
  }
}

function submission(answers) {
  return {
    flowVersionId: flow.flowVersionId,
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only",
    answers,
  };
}

async function assertStored(output, answers) {
  assert.equal(output?.success, true, JSON.stringify(output));
  const stored = await server.admin("GET", `/responses/${output.responseId}`);
  assert.deepEqual(stored.answers, answers);
}

async function count() {
  const { items } = await server.admin("GET", `/flows/${flow.flowId}/responses?limit=1000`);
  return items.length;
}
