// 9 of 10: the embedding page, and the token that identifies the respondent.
//
// Messages go to one origin, never to "*": the host's, and only if the app allows it.

/** The token, only in memory. */
let token = null;
let onToken = () => {};

/** The origin of the embedding page, if it is allowed. */
function hostOrigin() {
  if (!isFramed) return null;
  const allowed = JSON.parse(document.getElementById("page").dataset.origins ?? "[]");
  const origin = location.ancestorOrigins?.[0] ?? (document.referrer && new URL(document.referrer).origin);
  const isAllowed = allowed.length === 0 || allowed.some((entry) => matchesOrigin(entry, origin));
  return origin && origin !== "null" && isAllowed ? origin : null;
}

/** Whether an entry of the app's origins matches; `https://*.example.com` matches subdomains. */
function matchesOrigin(entry, origin) {
  const [start, end] = entry.split("*");
  if (end === undefined) return entry === origin;
  return origin?.startsWith(start) && origin.endsWith(end) && origin.length > start.length + end.length;
}

function postToHost(type, more = {}) {
  const origin = hostOrigin();
  const flowId = document.getElementById("page").dataset.flow;
  if (origin) window.parent.postMessage({ type, flowId, ...more }, origin);
}

function listenToHost() {
  addEventListener("message", ({ source, origin, data }) => {
    if (source !== window.parent || origin !== hostOrigin()) return;
    if (data?.type === "sluice:token" && typeof data.token === "string") takeToken(data.token);
    if (data?.type === "sluice:preview" && isPreview(document.getElementById("page"))) renew(data);
  });
  const postHeight = () =>
    postToHost("sluice:resize", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(postHeight).observe(document.body);
}

/** Requests a token from the host, and resolves when it arrives. */
function newToken() {
  postToHost("sluice:token-wanted");
  return new Promise((done) => (onToken = done));
}

async function takeToken(given) {
  token = given;
  onToken();
  const main = document.getElementById("page");
  if (main.dataset.state !== "token") return;
  let reply = null;
  for (let tries = 0; !reply; tries++) {
    reply = await ask(location.href).catch(() => null);
    if (!reply) await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
  }
  await swap(reply);
}

/** The token from the address, which is removed immediately, so that it is not copied or kept. */
function takeTokenOfAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  takeToken(given);
}

/** Whether this is the preview of an unpublished draft. */
const isPreview = (main) => "preview" in main.dataset;

/** How often the preview was renewed, and whether one without a reply goes to another question. */
let renewals = 0;
let isMoving = false;

/**
 * Reloads the preview with its answers after the draft or the selected question changed. Only the
 * last reply counts.
 */
async function renew({ address, keep }) {
  const turn = (renewals += 1);
  isMoving ||= !keep;
  // The whole reply: what is answered before the page is replaced stays.
  const reply = await ask(address).then(async (it) => new Response(await it.text(), it)).catch(() => null);
  if (turn !== renewals || !reply?.ok) return;
  keep = !isMoving;
  isMoving = false;
  const before = survey && { fields: fieldsOf(survey.form), types: typesOf(survey.sections) };
  const step = survey?.form.elements.step.value;
  if (!(await swap(reply, true)) || !survey || !before) return;
  fillIn(survey.form, before);
  for (const each of survey.sections) each.dispatchEvent(new Event("restored"));
  const kept = keep && survey.section(step);
  if (kept) survey.show(kept, { move: false });
  else survey.refresh();
}
