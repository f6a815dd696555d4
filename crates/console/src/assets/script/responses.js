/*
 * The responses: a panel for one response, automatic continuation of short pages, live updates, and
 * export progress. Without JavaScript the same is available as pages and links.
 */

import { localTimes } from "./base.js";
import { countAgain } from "./response-table.js";
import { siteAddress } from "./site.js";

const announcer = document.getElementById("announcer");
const list = document.querySelector(".responses[data-flow]");
const panel = document.getElementById("panel");
const number = new Intl.NumberFormat();

/** Maximum number of rows with live updates; the oldest are removed. */
const ROWS_MAX = 200;

/** Failed progress requests before the page says so, and before it gives up. */
const UNKNOWN_SAID = 10;
const UNKNOWN_MAX = 100;

/** Parses server-rendered markup. */
function elements(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  localTimes(template.content);
  return template.content;
}

// --- one response in a panel ---------------------------------------------------------------------

async function show(address) {
  const url = new URL(address);
  url.searchParams.set("panel", "1");
  const reply = await fetch(url);
  // If the user is signed out or the response is gone, open the page that explains it.
  if (!reply.ok || reply.redirected) return location.assign(address);
  panel.replaceChildren(elements(await reply.text()));
  if (!panel.open) panel.showModal();
  panel.querySelector("h2")?.focus();
  const id = panel.querySelector("article").dataset.id;
  for (const row of list.querySelectorAll("tr[data-id]")) row.toggleAttribute("data-shown", row.dataset.id === id);
}

if (panel) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-panel]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    show(link.href);
  });
  // The whole row acts as its link.
  list?.addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr[data-id]");
    if (!row || event.target.closest("a, button") || !getSelection().isCollapsed) return;
    show(row.querySelector("a[data-panel]").href);
  });
  panel.addEventListener("click", (event) => {
    if (event.target === panel) panel.close();
  });
  panel.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, pre")) return;
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = rel && panel.querySelector(`a[rel=${rel}]`);
    if (link) show(link.href);
  });
  panel.addEventListener("close", () => {
    const row = list.querySelector("tr[data-shown]");
    row?.removeAttribute("data-shown");
    row?.querySelector("a")?.focus();
  });
}

// --- continuation of a short page ----------------------------------------------------------------

/** Makes the link to older responses start after this one. */
function leadTo(older, last) {
  const url = new URL(older.href);
  url.searchParams.set("after", last);
  older.href = url.href;
  older.textContent = older.dataset.older;
}

async function goOn(note) {
  const rows = list.querySelector("[data-rows]");
  const older = list.querySelector("[data-older]");
  let next = note.dataset.goesOn;
  let wanted = Number(note.dataset.wanted);
  while (next && wanted > 0 && note.isConnected) {
    const reply = await fetch(next);
    if (!reply.ok || reply.redirected) return;
    const found = await reply.json();
    if (!note.isConnected) return;
    for (const row of found.rows.slice(0, wanted)) rows.append(elements(row));
    // Further rows are left for the next page.
    const isFull = found.rows.length >= wanted;
    wanted -= found.rows.length;
    next = found.next;
    if (isFull) {
      leadTo(older, rows.lastElementChild.dataset.id);
      note.remove();
      return;
    }
    if (!next) break;
    older.href = found.older;
    const back = document.createElement("time");
    back.dateTime = found.back;
    note.replaceChildren(rows.children.length === 0 ? "None found yet. " : "", "Searching. Reached ", back, " so far.");
    localTimes(note);
  }
  older?.remove();
  delete note.dataset.goesOn;
  note.textContent = rows.children.length === 0 ? "No matching responses; all responses were searched." : "No more matches; all responses were searched.";
}

const note = list?.querySelector("[data-goes-on]");
if (note) goOn(note);

// --- live updates --------------------------------------------------------------------------------

/**
 * A stream while the page is visible; it continues from the newest row when the page is visible
 * again.
 */
function watch(address) {
  const state = list.querySelector("[data-live-state]");
  const rows = list.querySelector("[data-rows]");
  let events;
  let timesOpened = 0;

  function arrived(event) {
    // A page without a table is reloaded.
    if (list.hasAttribute("data-reload")) return location.reload();
    const { id, row } = JSON.parse(event.data);
    // Newest first, by id. Duplicates and rows of older pages are skipped.
    const next = [...rows.children].find((other) => other.dataset.id <= id);
    const isOlder = !next && rows.children.length > 0 && list.querySelector("[data-older], [data-goes-on]");
    if (next?.dataset.id === id || isOlder) return;
    const markup = elements(row);
    markup.firstElementChild.classList.add("arrived");
    rows.insertBefore(markup, next ?? null);
    rows.closest(".scroll").hidden = false;
    list.querySelector(".empty")?.remove();
    if (rows.children.length > ROWS_MAX) shorten();
    announcer.textContent = "New response.";
    countAgain();
  }

  /** Removes the oldest rows, which start the next page. */
  function shorten() {
    while (rows.children.length > ROWS_MAX) rows.lastElementChild.remove();
    // Continuing below would leave a gap.
    list.querySelector("[data-goes-on]")?.remove();
    let older = list.querySelector("[data-older]");
    if (!older) {
      older = Object.assign(document.createElement("a"), { className: "button", rel: "next", href: location.href });
      older.dataset.older = "Older";
      list.querySelector(".pager").append(older);
    }
    leadTo(older, rows.lastElementChild.dataset.id);
  }

  /** More responses arrived while the page was hidden than the stream sends. */
  function behind() {
    // A page that was just loaded is up to date.
    if (timesOpened < 2) return;
    const isInUse = document.querySelector("dialog[open], .adding[open]");
    if (!isInUse) return location.reload();
    many();
  }

  function many() {
    if (state) state.textContent = "Many new responses arrived. Reload the page to see them all.";
  }

  function open() {
    const url = new URL(address, location);
    const newest = rows?.querySelector("tr[data-id]")?.dataset.id;
    if (newest) url.searchParams.set("since", newest);
    events = new EventSource(url);
    events.addEventListener("open", () => {
      timesOpened += 1;
      if (state) state.textContent = "New responses appear automatically.";
    });
    events.addEventListener("error", ({ target }) => {
      // Closed permanently: the user has too many live pages, or is signed out.
      const isOver = target.readyState === EventSource.CLOSED;
      if (state) state.textContent = isOver ? "Reload the page to see new responses." : "";
    });
    events.addEventListener("response", arrived);
    events.addEventListener("behind", behind);
    events.addEventListener("many", many);
  }

  document.addEventListener("visibilitychange", () => {
    events?.close();
    events = undefined;
    if (!document.hidden) open();
  });
  if (!document.hidden) open();
}

if (list?.dataset.live) watch(list.dataset.live);

// --- export progress -----------------------------------------------------------------------------

const dialog = document.getElementById("export");
const form = dialog?.querySelector("form[data-export]");
if (form) {
  // It stays open if it was opened before this script was loaded.
  if (!dialog.matches(":modal")) dialog.close();
  if (!dialog.open && location.hash === `#${dialog.id}`) dialog.showModal();
  for (const button of form.querySelectorAll("[data-scripted]")) button.hidden = false;
  form.addEventListener("submit", () => {
    form.querySelector("input[name=id]")?.remove();
    const id = Object.assign(document.createElement("input"), { type: "hidden", name: "id", value: crypto.randomUUID() });
    form.append(id);
    follow(id.value);
  });
}

async function follow(id) {
  const box = form.querySelector("[data-progress]");
  const bar = box.querySelector("progress");
  const words = box.querySelector("[data-progress-words]");
  const button = form.querySelector("button[type=submit]");
  box.hidden = false;
  button.disabled = true;
  bar.removeAttribute("value");
  words.textContent = "Starting…";
  // The progress is unknown until the download starts, and only the sending node knows it. A
  // refused download opens a page that explains it, so if this page is still open, there is a
  // download.
  for (let unknown = 0, isKnown = false; ; ) {
    await new Promise((done) => setTimeout(done, 300));
    const reply = await fetch(siteAddress(`console/exports/${id}`)).catch(() => undefined);
    if (!reply?.ok || reply.redirected) {
      unknown += 1;
      if (unknown === UNKNOWN_SAID && !isKnown) words.textContent = "Downloading…";
      if (unknown < UNKNOWN_MAX) continue;
      words.textContent = "Downloading… Your browser shows the progress.";
      break;
    }
    [unknown, isKnown] = [0, true];
    const { rows, total, ended, running } = await reply.json();
    if (total) Object.assign(bar, { max: total, value: rows });
    words.textContent = `${number.format(rows)}${total ? ` of ${number.format(total)}` : ""} responses`;
    if (ended) {
      Object.assign(bar, { max: 1, value: 1 });
      words.textContent = `Done: ${number.format(rows)} responses.`;
      announcer.textContent = words.textContent;
      break;
    }
    if (!running) {
      words.textContent = "The export was interrupted. Try again.";
      break;
    }
  }
  button.disabled = false;
}
