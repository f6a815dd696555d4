/*
 * Go anywhere: a dialog with the links of the page and the flows that match what is typed.
 */

import { showDialog } from "./dialogs.js";
import { announce, el } from "./editor/dom.js";
import { siteAddress } from "./site.js";

const REST_MS = 150;

const clean = (text) => text.replace(/\s+/g, " ").trim();
const hasAll = (text, words) => words.every((word) => text.toLowerCase().includes(word));

/** The app of this page, whose flows are searched first. */
const appOfPage = () => document.querySelector(".side nav a[href$='/settings']")?.pathname.match(/\/console\/apps\/([^/]+)\/settings$/)?.[1] ?? "";

/** The pages that this page links to in its navigation. */
function placesOfPage() {
  const here = document.querySelector(".tabs");
  const flow = clean(document.getElementById("flow-title")?.textContent ?? "");
  const tabs = [...(here?.querySelectorAll("a") ?? [])].map((link) => ({ name: clean(link.textContent), hint: flow, address: link.href }));
  const side = [...document.querySelectorAll(".side nav a, .side .foot a")].map((link) => ({
    name: clean(link.querySelector(".name")?.textContent ?? link.textContent), hint: link.closest("nav")?.getAttribute("aria-label") ?? "", address: link.href,
  }));
  return [...tabs, ...side];
}

export function openGo() {
  const places = placesOfPage();
  const list = el("ul", { role: "listbox", id: "go-list", aria: { label: "Pages" } });
  const input = el("input", {
    className: "input", type: "search", placeholder: "Search flows and pages", autocomplete: "off", role: "combobox",
    aria: { label: "Search flows and pages", controls: "go-list", expanded: "true", autocomplete: "list" },
  });
  const empty = el("p", { className: "muted", hidden: true }, "Nothing found.");
  const dialog = showDialog("Search and go to", input, list, empty);
  dialog.classList.add("go");
  let shown = [];
  let at = 0;

  const mark = (next) => {
    at = Math.max(0, Math.min(next, shown.length - 1));
    for (const [n, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(n === at));
    const chosen = list.children[at];
    if (chosen) input.setAttribute("aria-activedescendant", chosen.id);
    else input.removeAttribute("aria-activedescendant");
    chosen?.scrollIntoView({ block: "nearest" });
  };
  const draw = (all) => {
    const seen = new Set();
    shown = all.filter(({ address }) => !seen.has(new URL(address, location.href).href) && seen.add(new URL(address, location.href).href));
    list.replaceChildren(...shown.map(({ name, hint, address }, n) => el("li", {
      role: "option", id: `go-${n}`, aria: { selected: "false" },
      onpointermove: () => at !== n && mark(n), onclick: () => (location.href = address),
    }, el("span", {}, name), el("span", { className: "hint" }, hint))));
    list.hidden = shown.length === 0;
    empty.hidden = shown.length > 0;
    mark(0);
  };
  let turn = 0;
  /** Places by their name first, then the flows that were found, then places by their hint. */
  const all = (hits) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const named = places.filter(({ name }) => hasAll(name, words));
    return [...named, ...hits, ...places.filter(({ name, hint }) => hasAll(`${name} ${hint}`, words))];
  };
  const search = async () => {
    const text = input.value.trim();
    const mine = (turn += 1);
    if (!text) return;
    const reply = await fetch(`${siteAddress("console/search")}?q=${encodeURIComponent(text)}&app=${appOfPage()}`, { redirect: "manual" }).catch(() => null);
    const hits = reply?.ok ? await reply.json().catch(() => []) : [];
    if (mine !== turn || !dialog.isConnected) return;
    draw(all(hits));
    announce(shown.length === 1 ? "1 result." : `${shown.length} results.`);
  };
  let timer;
  input.addEventListener("input", () => {
    // At once: Enter must open what matches the whole text.
    draw(all([]));
    clearTimeout(timer);
    timer = setTimeout(search, REST_MS);
  });
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      mark(at + steps[event.key]);
    } else if (event.key === "Enter" && shown[at]) {
      event.preventDefault();
      location.href = shown[at].address;
    }
  });
  draw(places);
  input.focus();
}
