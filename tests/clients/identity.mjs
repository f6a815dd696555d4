// An app that enforces identity verification, and how it handles a token on every public route.
//
// Used by the tests of tokens and of the snippets, so that "accepted" and "refused" mean the same in
// both: for resolve, snapshot and submit, and for what is stored afterwards.

import assert from "node:assert/strict";

const DEFINITION = {
  title: "Signed in",
  questions: [{ id: "nps", type: "nps", prompt: "How likely?", required: true }],
};

/** The lifetime of a valid token. */
const LIFETIME_SECONDS = 300;

/** An app of `server` with this key, enforcing. */
export async function enforcing(server, name, key) {
  const { appId, base } = await server.createApp(name);
  const flow = await server.createFlow(appId, name, DEFINITION);
  const made = await server.admin("POST", `/apps/${appId}/identity-keys`, key);
  await server.admin("PATCH", `/apps/${appId}`, { identityVerification: "enforce" });
  return new Enforcing(server, appId, base, flow, made);
}

class Enforcing {
  constructor(server, appId, base, { flowId, flowVersionId }, { kid, secret }) {
    Object.assign(this, { server, appId, base, flowId, flowVersionId, kid, secret });
  }

  /** The claims of a valid token, with these overrides. */
  claims(more = {}) {
    const now = Math.floor(Date.now() / 1000);
    return { sub: "user-7", email: "ann@mail.example", aud: this.appId, iat: now, exp: now + LIFETIME_SECONDS, ...more };
  }

  /** A token is accepted by every route, and a response with it is stored with the verified `userId`. */
  async assertAccepts(token, userId = "user-7") {
    for (const [route, reply] of await this.reads(token)) {
      assert.equal(reply.status, 200, `${route}: ${await reply.text()}`);
    }
    const reply = await this.submit(token);
    const { result } = await reply.json();
    assert.equal(result?.data?.success, true, `submit: ${reply.status}`);
    const stored = await this.server.admin("GET", `/responses/${result.data.responseId}`);
    assert.equal(stored.identityVerified, true);
    assert.deepEqual(stored.identities, [{ type: "userId", value: userId, verified: true }]);
  }

  /** A token is refused by every route with this code, and nothing is stored. */
  async assertRefuses(token, code) {
    const before = await this.count();
    for (const [route, reply] of await this.reads(token)) {
      assert.equal(reply.status, 401, route);
      assert.match(reply.headers.get("www-authenticate"), /^Bearer/, route);
      assert.equal((await reply.json()).code, code, route);
    }
    const reply = await this.submit(token);
    assert.equal(reply.status, 401);
    const { data } = (await reply.json()).error;
    assert.deepEqual([data.code, data.reason], ["UNAUTHORIZED", code]);
    assert.equal(await this.count(), before, "something was stored");
  }

  async reads(token) {
    const headers = { authorization: `Bearer ${token}` };
    const get = async (route, path) => [route, await fetch(`${this.base}/${path}`, { headers })];
    return [
      await get("resolve", `flows/${this.flowId}`),
      await get("snapshot", `flow_versions/${this.flowVersionId}?payload=4`),
    ];
  }

  submit(token) {
    return fetch(`${this.base}/trpc/response.submit`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        flowVersionId: this.flowVersionId,
        flowVersionPayloadGeneration: "4",
        respondentAnalyticsAdmission: "admitted",
        answers: { nps: "9" },
      }),
    });
  }

  async count() {
    return (await this.server.admin("GET", `/flows/${this.flowId}/responses`)).items.length;
  }
}
