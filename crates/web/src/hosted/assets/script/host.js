// 8 of 9: the page that embeds this one, and the token that says who answers.
//
// Messages go to one origin, never to "*": the host's, and only where the app allows it.

/** The token, in memory alone. */
let token = null;
let tokenCame = () => {};

/** The origin of the page that embeds this one, if it may. */
function hostOrigin() {
  if (!isFramed) return null;
  const allowed = JSON.parse(document.getElementById("page").dataset.origins ?? "[]");
  const origin = location.ancestorOrigins?.[0] ?? (document.referrer && new URL(document.referrer).origin);
  const isAllowed = allowed.length === 0 || allowed.some((entry) => stands(entry, origin));
  return origin && origin !== "null" && isAllowed ? origin : null;
}

/** Whether an entry of the app's origins stands for this one; `https://*.example.com` for all below. */
function stands(entry, origin) {
  const [start, end] = entry.split("*");
  if (end === undefined) return entry === origin;
  return origin?.startsWith(start) && origin.endsWith(end) && origin.length > start.length + end.length;
}

function tellHost(type, more = {}) {
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
  const tellHeight = () =>
    tellHost("sluice:resize", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(tellHeight).observe(document.body);
}

/** Asks the host for a token, and is over when one has come. */
function newToken() {
  tellHost("sluice:token-wanted");
  return new Promise((done) => (tokenCame = done));
}

async function takeToken(given) {
  token = given;
  tokenCame();
  const main = document.getElementById("page");
  if (main.dataset.state !== "token") return;
  let reply = null;
  for (let tries = 0; !reply; tries++) {
    reply = await ask(location.href).catch(() => null);
    if (!reply) await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
  }
  await swap(reply);
}

/** The token of the address, which is taken out of it at once: it must not be copied, nor kept. */
function takeTokenOfAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  takeToken(given);
}

/** Whether an author looks at what is not published. */
const isPreview = (main) => "preview" in main.dataset;

/** The draft has changed, or another question is looked at: the same page anew, with the answers of before. */
async function renew({ address, keep }) {
  const before = survey && { fields: fieldsOf(survey.form), types: typesOf(survey.sections) };
  const step = survey?.form.elements.step.value;
  const reply = await ask(address).catch(() => null);
  if (!reply?.ok || !(await swap(reply, true)) || !survey || !before) return;
  fillIn(survey.form, before);
  for (const each of survey.sections) each.dispatchEvent(new Event("restored"));
  const kept = keep && survey.section(step);
  if (kept) survey.show(kept, { move: false });
  else survey.refresh();
}
