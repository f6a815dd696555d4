/*
 * The table of responses: buttons that move columns instead of numbers, and the number of matches
 * once it is known. Without JavaScript the numbers are typed, and a link reloads the page.
 */

import { localTimes } from "./base.js";

const announcer = document.getElementById("announcer");

/** Milliseconds between two requests for the number of matches. */
const COUNT_PAUSE = 1000;
/** Milliseconds in which several new responses share one request. */
const RECOUNT_PAUSE = 3000;

// --- columns -------------------------------------------------------------------------------------

const list = document.querySelector("[data-columns]");

function renumber() {
  for (const [at, row] of [...list.children].entries()) {
    row.querySelector(".place").value = at + 1;
    row.querySelector("[data-moves='-1']").disabled = at === 0;
    row.querySelector("[data-moves='1']").disabled = at === list.children.length - 1;
  }
}

function move(row, by) {
  const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  if (by < 0) other.before(row);
  else other.after(row);
  renumber();
  const place = [...list.children].indexOf(row) + 1;
  announcer.textContent = `${row.querySelector("label").textContent.trim()}: position ${place} of ${list.children.length}.`;
}

if (list) {
  for (const input of list.querySelectorAll(".place")) input.type = "hidden";
  for (const button of list.querySelectorAll("[data-moves]")) button.hidden = false;
  renumber();
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-moves]");
    if (!button) return;
    move(button.closest("li"), Number(button.dataset.moves));
    // The first and the last have one button less.
    const enabled = button.disabled ? button.parentElement.querySelector("[data-moves]:not(:disabled)") : button;
    enabled?.focus();
  });
}

// --- the number of matches -----------------------------------------------------------------------

let recounts;
let isCounting = false;

function hideLinks() {
  for (const link of document.querySelectorAll("[data-count] [data-unscripted]")) link.hidden = true;
}

function showLinks() {
  for (const link of document.querySelectorAll("[data-count] [data-unscripted]")) link.hidden = false;
}

/** Asks until the number is known. */
async function count() {
  if (isCounting) return;
  isCounting = true;
  try {
    await ask();
  } finally {
    isCounting = false;
  }
}

async function ask() {
  for (;;) {
    const shown = document.querySelector("[data-count]");
    if (!shown || document.hidden) return;
    const reply = await fetch(shown.dataset.count).catch(() => undefined);
    if (!reply?.ok || reply.redirected || !shown.isConnected) {
      showLinks();
      return;
    }
    const template = document.createElement("template");
    template.innerHTML = await reply.text();
    // A number that is known is shown until there is a newer one.
    const isKnown = !shown.matches("[data-waits]");
    if (isKnown && template.content.querySelector("[data-waits]")) return;
    localTimes(template.content);
    shown.replaceWith(template.content);
    hideLinks();
    if (!document.querySelector("[data-count][data-waits]")) return;
    await new Promise((done) => setTimeout(done, COUNT_PAUSE));
  }
}

/**
 * The number changes soon after a response arrived. One that is read from all responses stays as it
 * is.
 */
export function countAgain() {
  if (document.querySelector("[data-count][data-counted]")) return;
  recounts ??= setTimeout(() => {
    recounts = undefined;
    count();
  }, RECOUNT_PAUSE);
}

hideLinks();
if (document.querySelector("[data-count][data-waits]")) count();
document.addEventListener("visibilitychange", () => {
  if (document.querySelector("[data-count][data-waits]")) count();
});
