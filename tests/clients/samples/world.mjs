// A server with one of everything that a sample of the API reference names.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

import { startServer } from "../server.mjs";

const POLL_MS = 100;
const DELIVERED_MS_MAX = 60_000;
/** How many are submitted below. */
const RESPONSES = 4;
/** One pixel. */
export const JPEG = Buffer.from(
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////2wBDAf////////////////////////" +
  "//////////////////////////////////////////////////////////////wAARCAABAAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8" +
  "QAFQEBAQAAAAAAAAAAAAAAAAAAAQP/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCQAo//2Q==", "base64");

const PUBLIC = "https://feedback.example.com";

const SURVEY = {
  title: "How are we doing?",
  questions: [
    { id: "nps", type: "nps", prompt: "Would you recommend us?", required: true },
    { id: "plan", type: "singleChoice", prompt: "Which plan?", options: [{ id: "free", label: "Free" }, { id: "pro", label: "Pro" }] },
    { id: "why", type: "longText", prompt: "Why?" },
  ],
};

/** Starts it; `receiver` is the address of a webhook receiver, `mail` the port of a mail server. */
export async function startWorld({ receiver, mail }) {
  const args = ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http", "--smtp-url", `smtp://127.0.0.1:${mail.port}?tls=none`, "--mail-from", "sluice@example.com", "--public-url", PUBLIC];
  const server = await startServer({ args });
  try {
    return { server, ids: await fill(server, receiver) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Fills it, and returns the ids by the names of the parameters. */
async function fill(server, receiver) {
  const { appId, apiKeys: [apiKey] } = await server.admin("POST", "/apps", { name: "Acme" });
  const { flowId, flowVersionId } = await server.createFlow(appId, "Product feedback", SURVEY);
  const responseIds = [];
  for (const [nps, plan] of [["9", "pro"], ["3", "free"], ["10", "pro"]]) responseIds.push(await submit({ nps, plan }));
  await submit({ nps: "7", plan: "free" }, { identities: [{ type: "userId", value: "ann" }], respondentAnalyticsAdmission: "admitted" });
  const { items: [{ respondentId }] } = await server.admin("GET", `/respondents?appId=${appId}`);
  const asset = await fetch(`${server.url}/api/admin/v1/apps/${appId}/assets`, {
    method: "POST", headers: { authorization: `Bearer ${server.token}`, "content-type": "image/jpeg" }, body: JPEG,
  });
  const { assetId } = await asset.json();
  const { webhookId } = await server.admin("POST", `/apps/${appId}/webhooks`, { url: receiver, events: ["flow.published"] });
  const deliveryId = await delivered(server, appId, webhookId);
  const { kid } = await server.admin("POST", `/apps/${appId}/identity-keys`, { type: "hs256" });
  const { reportId } = await server.admin("POST", `/flows/${flowId}/reports`, { title: "November", questions: ["nps"] });
  const invited = await server.admin("POST", `/flows/${flowId}/invitations`, { identities: [{ type: "userId", value: "bob" }] });
  const { tokenId } = await server.admin("POST", "/tokens", { name: "Old", scopes: ["read"] });
  const { userId } = await server.admin("POST", "/users", { email: "zoe@example.com", name: "Zoe", role: "viewer", appId });
  await server.admin("PUT", `/flows/${flowId}/draft`, { ...SURVEY, title: "How are we doing today?" });
  await settled(server, appId);
  const ids = {
    apiKey, appId, assetId, deliveryId, webhookId, flowAssignmentId: invited.flowAssignmentId, flowId, flowVersionId, kid, reportId, respondentId,
    responseId: responseIds[0], tokenId, userId,
  };
  for (const [name, id] of Object.entries(ids)) assert.equal(typeof id, "string", name);
  return ids;

  async function submit(answers, more = {}) {
    const body = {
      flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers, ...more,
    };
    const reply = await fetch(`${server.url}/api/v1/${apiKey}/trpc/response.submit`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    });
    const { result: { data } } = await reply.json();
    assert.equal(data.success, true, JSON.stringify(data));
    return data.responseId;
  }
}

/** Waits until the log has an event for each response: it is a little behind. */
async function settled(server, appId) {
  for (const end = Date.now() + DELIVERED_MS_MAX; Date.now() < end; await pause(POLL_MS)) {
    const { items } = await server.admin("GET", `/apps/${appId}/events?types=response.created`);
    if (items.length === RESPONSES) return;
  }
  throw new Error("the log has not all events");
}

/** Publishes another flow, and waits until the endpoint has received that. */
async function delivered(server, appId, webhookId) {
  await server.createFlow(appId, "Lunch", { title: "Lunch", questions: [{ id: "taste", type: "rating", prompt: "How was lunch?" }] });
  for (const end = Date.now() + DELIVERED_MS_MAX; Date.now() < end; await pause(POLL_MS)) {
    const { items } = await server.admin("GET", `/apps/${appId}/webhooks/${webhookId}/deliveries`);
    if (items[0]?.state === "delivered") return items[0].deliveryId;
  }
  throw new Error("the event was not delivered");
}
