/*
 * Keyboard shortcuts, and the list of them. Those that are a single character can be turned off,
 * because speech input may type one by accident.
 */

import { showDialog } from "./dialogs.js";
import { el, tick } from "./editor/dom.js";
import { openGo } from "./go.js";

const OFF = "sluice-single-keys-off";
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const control = isMac ? "⌘" : "Ctrl";

const LISTS = [
  ["Everywhere", [[`${control} K`, "Search and go to a page"], ["/", "Search on this page"], ["?", "Show this list"], ["Esc", "Close a dialog or a menu"]]],
  ["Editor", [
    [`${control} Z`, "Undo"], [`${control} Shift Z`, "Redo"], ["Alt ↑ / Alt ↓", "Move a question or an option"],
    ["Enter", "In an option: go to the next, or add one"],
  ]],
];

const areSingleKeysOn = () => localStorage.getItem(OFF) === null;

export function openShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const table = (rows) => el("dl", { className: "shortcuts" }, rows.map(([keys, text]) =>
    el("div", {}, el("dt", {}, keys.split(" ").map((key) => (key === "/" && keys !== "/" ? " / " : el("kbd", {}, key)))), el("dd", {}, text))));
  const dialog = showDialog("Keyboard shortcuts", el("h2", {}, "Keyboard shortcuts"),
    LISTS.map(([title, rows]) => [el("h3", {}, title), table(rows)]).flat(),
    tick("Use single-key shortcuts (/ and ?)", areSingleKeysOn(), (on) => (on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, ""))),
    el("div", { className: "buttons" }, el("button", { type: "button", className: "button", onclick: () => dialog.close() }, "Close")));
}

const isTyping = ({ target }) => target.closest?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) openGo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || !areSingleKeysOn()) return;
  if (event.key === "?") {
    event.preventDefault();
    openShortcuts();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    event.preventDefault();
    if (search) search.focus();
    else if (!document.querySelector("dialog[open]")) openGo();
  }
});

for (const button of document.querySelectorAll("[data-go]")) {
  button.hidden = false;
  button.querySelector("[data-go-keys]").textContent = `${control} K`;
  button.addEventListener("click", openGo);
}
for (const button of document.querySelectorAll("[data-shortcuts]")) {
  button.hidden = false;
  button.addEventListener("click", openShortcuts);
}
