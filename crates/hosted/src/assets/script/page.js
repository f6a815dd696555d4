// 10 of 10: setting up a page, loaded or from a reply; keyboard handling.

/** Two digits within this time form one number. */
const DIGITS_MS = 800;

function arrive(main, reply) {
  for (const time of main.querySelectorAll("time[datetime]")) showLocalTime(time);
  const form = main.querySelector("form[data-whole]");
  survey = form && new Survey(main, form);
  if (survey) begin(survey, reply);
  else if (reply) focusFirst(main, "h1");
  const { state, version, done, response = null, redirect = null } = main.dataset;
  if (state === "token" && (reply || !token)) newToken();
  // Answering again needs a new key: the one in the draft is used.
  if (state === "answered" || state.startsWith("invitation-")) dropDraft(main);
  if (state !== "stored" || !reply) return;
  dropDraft(main);
  finishVisit();
  postToHost("sluice:submitted", { flowVersionId: version, responseId: response, redirectUrl: redirect });
  if (redirect && !isFramed) location.replace(redirect);
  else settleHistory(done);
}

function begin({ main, form, words }, reply) {
  // For a page loaded with a token, the server saw this page as the referrer.
  if (document.referrer) form.elements.referrer.value = document.referrer;
  beginVisit(main.dataset, survey.sections);
  const isKept = !reply && restoreDraft(survey);
  const step = (isKept && history.state?.step) || form.elements.step.value;
  survey.show(survey.section(step), { move: false });
  if (isKept) survey.notice(form, words.kept, words.again).then(() => startAgain(main, form));
  if (reply && survey.current?.querySelector(".error")) focusField(survey.current);
  else if (reply) focusFirst(main, ".notice[role]");
  if (main.dataset.opened) ask(main.dataset.opened, { method: "POST", keepalive: true }).catch(() => {});
  postToHost("sluice:ready", { flowVersionId: main.dataset.version });
}

function startAgain(main, form) {
  dropDraft(main);
  form.reset();
  history.replaceState(null, "");
  location.reload();
}

function focusFirst(main, selector) {
  const target = main.querySelector(selector);
  if (!target) return;
  target.tabIndex = -1;
  target.focus();
}

/** A time in the reader's time zone and format, with the name of the zone. */
function showLocalTime(time) {
  const { lang } = document.documentElement;
  const own = navigator.languages.find((each) => each.split("-")[0] === lang.split("-")[0]);
  const day = { day: "numeric", month: "long", year: "numeric" };
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  time.textContent = new Date(time.dateTime).toLocaleString(own ?? knownLanguage(), { ...day, ...clock });
}

let digits = "";
let digitsAt = 0;

function onKey({ target, key, altKey, ctrlKey, metaKey, isComposing }) {
  if (!survey || altKey || metaKey || isComposing) return;
  // In a field the browser submits the form on Enter, and in a long text it adds a line.
  if (key === "Enter" && (ctrlKey || !target.closest("a, button, input, select, textarea"))) {
    survey.form.requestSubmit(survey.primary);
  }
  // Only if the question has the focus, so that keys meant for something else select no answer.
  const isTyping = target.matches("select, .text");
  const section = target.closest(".question[data-id]");
  if (/^\d$/.test(key) && !ctrlKey && !isTyping && section) pick(section, key);
}

/** A digit selects a mark by its value, or an option by its position. */
function pick(section, digit) {
  const options = [...section.querySelectorAll(".mark input, .choice input")];
  const byValue = (value) => options.find((option) => option.value === value);
  const isLater = Date.now() - digitsAt > DIGITS_MS || !byValue(digits + digit);
  digits = isLater ? digit : digits + digit;
  digitsAt = Date.now();
  const isScale = section.querySelector(".mark") && byValue("1");
  const option = isScale ? byValue(digits) : options[digit - 1];
  option?.focus();
  option?.click();
}

function onPopState({ state }) {
  const section = survey?.section(state?.step);
  if (section && !survey.sending) survey.show(section, { push: false });
}

function start() {
  if (isFramed) listenToHost();
  addEventListener("keydown", onKey);
  addEventListener("popstate", onPopState);
  addEventListener("hashchange", takeTokenOfAddress);
  addEventListener("pagehide", sendSteps);
  document.addEventListener("visibilitychange", () => document.hidden && sendSteps());
  // The token first: with a token, no draft is shown, because it may be another person's.
  takeTokenOfAddress();
  arrive(document.getElementById("page"));
}

// Tests import the rules without a page.
if (globalThis.document?.getElementById("page")) start();
