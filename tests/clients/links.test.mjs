// Every HTTP link of both tRPC majors: accepted submissions are stored as sent, refusals state the reason and
// store nothing, and an invalid key is an error that the client can read.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startServer } from "./server.mjs";
import * as v10 from "./v10/links.mjs";
import * as v11 from "./v11/links.mjs";

const DEFINITION = {
  title: "Tried by real clients",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "why", type: "longText", prompt: "Why?" },
    {
      id: "use",
      type: "multipleChoice",
      prompt: "What do you use?",
      options: [
        { id: "api", label: "The API" },
        { id: "console", label: "The console" },
      ],
    },
  ],
};

// Not only ASCII, because the two stream framings encode it differently.
const ANSWERS = { nps: "9", why: "Größe, 大きさ, 🦦 and \"quotes\"\nacross lines", use: ["api", "console"] };

let server;
let app;
before(async () => {
  server = await startServer();
  app = await server.createApp("Clients");
});
after(() => server?.stop());

for (const major of [v10, v11]) {
  for (const kind of major.links) {
    describe(`${major.name} ${kind.name}`, () => {
      let published;
      let draft;
      let requests;
      let submit;

      before(async () => {
        published = await server.createFlow(app.appId, kind.name, DEFINITION);
        draft = await server.createFlow(app.appId, "Draft", DEFINITION, { publish: false });
        submit = submitter(major, kind, app.base, (request) => requests.push(request));
      });

      test("one valid submission is stored as sent", async () => {
        requests = [];
        const accepted = await submit(submission(published, ANSWERS));
        await assertStored(accepted, published, ANSWERS);
        assertFraming(kind, requests, 1);
      });

      test("one refused submission states the reason and stores nothing", async () => {
        const before = await storedIn(published);
        assertRefused(await submit(submission({ flowVersionId: "fv_unknown" }, ANSWERS)), [
          ["flow_version_not_found", "Flow version not found"],
        ]);
        assert.deepEqual(await storedIn(published), before);
      });

      test("three concurrent submissions are validated separately", async () => {
        requests = [];
        const before = await storedIn(published);
        const second = { ...ANSWERS, why: "The third of three" };
        const [first, refused, third] = await Promise.all([
          submit(submission(published, ANSWERS)),
          submit(submission(draft, ANSWERS)),
          submit(submission(published, second)),
        ]);
        await assertStored(first, published, ANSWERS);
        assertRefused(refused, [["not_open_yet", "This survey is not open yet."]]);
        await assertStored(third, published, second);
        assert.equal((await storedIn(published)).length, before.length + 2);
        assert.deepEqual(await storedIn(draft), []);
        assertFraming(kind, requests, 3);
      });

      test("an unknown key is an UNAUTHORIZED error", async () => {
        const base = `${server.url}/api/v1/pk_0000000000000000000000`;
        const stranger = submitter(major, kind, base, () => {});
        for (const calls of [1, 3]) {
          const outcomes = await Promise.allSettled(
            Array.from({ length: calls }, () => stranger(submission(published, ANSWERS))),
          );
          for (const { reason: error } of outcomes) {
            assert.ok(error instanceof major.TRPCClientError, String(error));
            assert.equal(error.data?.code, "UNAUTHORIZED", String(error));
            assert.equal(error.data.httpStatus, 401);
            assert.equal(error.data.path, "response.submit");
            assert.equal(error.shape.code, -32001);
          }
        }
      });
    });
  }
}

/** A function that submits through one link, and adds each HTTP request to `seen`. */
function submitter(major, kind, base, seen) {
  const client = major.client(kind.link, {
    url: `${base}/trpc`,
    fetch: (url, options) => {
      seen({ url: String(url), headers: new Headers(options.headers) });
      return fetch(url, options);
    },
  });
  return (input) => client.response.submit.mutate(input);
}

function submission({ flowVersionId }, answers) {
  return {
    flowVersionId,
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only",
    answers,
  };
}

async function assertStored(output, { flowId, flowVersionId }, answers) {
  assert.equal(output.success, true, JSON.stringify(output));
  assert.match(output.responseId, /^rs_/);
  const stored = await server.admin("GET", `/responses/${output.responseId}`);
  assert.deepEqual(stored.answers, answers);
  assert.equal(stored.flowId, flowId);
  assert.equal(stored.flowVersionId, flowVersionId);
}

/** Checks the whole refusal: the code and message of each issue, at the version's id. */
function assertRefused(output, problems) {
  assert.deepEqual(output, {
    success: false,
    errors: {
      formErrors: problems.map(([, message]) => message),
      issues: problems.map(([code, message]) => ({ code, path: ["flowVersionId"], message })),
    },
  });
}

async function storedIn({ flowId }) {
  const { items } = await server.admin("GET", `/flows/${flowId}/responses?limit=100`);
  return items.map((item) => item.responseId);
}

/** Checks that the link used its framing; otherwise two tests would test the same thing. */
function assertFraming(kind, requests, calls) {
  assert.equal(requests.length, kind.batches ? 1 : calls);
  for (const { url, headers } of requests) {
    const path = Array(kind.batches ? calls : 1).fill("response.submit").join(",");
    assert.ok(url.endsWith(`/trpc/${path}${kind.batches ? "?batch=1" : ""}`), url);
    if (kind.streams) assert.equal(headers.get(kind.streams[0]), kind.streams[1]);
  }
}
