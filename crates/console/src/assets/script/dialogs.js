/*
 * Dialogs and toasts. A confirmation page becomes a dialog: its `data-dialog-body` is shown above
 * the current page.
 */

import { el } from "./editor/dom.js";

const TOAST_MS = 6000;
const TOAST_WITH_UNDO_MS = 12_000;

/** Shows a dialog that is removed when it is closed. Escape and a click outside close it. */
export function showDialog(label, ...content) {
  const dialog = el("dialog", { className: "ask", aria: { label } }, el("div", { className: "stack" }, content.flat(Infinity)));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close() });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks a question; resolves to whether the user agreed. A text after the question mark is an
 * explanation.
 */
export function ask(text, verb, { isDanger = false } = {}) {
  const end = text.indexOf("?") + 1 || text.length;
  const [title, more] = [text.slice(0, end), text.slice(end).trim()];
  return new Promise((resolve) => {
    const yes = el("button", { type: "button", className: `button primary${isDanger ? " danger" : ""}`, onclick: () => dialog.close("yes") }, verb);
    const no = el("button", { type: "button", className: "button", onclick: () => dialog.close() }, "Cancel");
    const dialog = showDialog(title, el("h2", {}, title), more && el("p", {}, more), el("div", { className: "buttons" }, yes, no));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
    yes.focus();
  });
}

/** Shows the confirmation page at an address as a dialog; opens the page itself if that fails. */
export async function openPage(address) {
  const reply = await fetch(address).catch(() => null);
  const page = reply?.ok && !reply.redirected ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
  const body = page?.querySelector("[data-dialog-body]");
  if (!body) return void (location.href = address);
  const content = document.importNode(body, true);
  content.classList.replace("card", "stack");
  const dialog = showDialog(content.querySelector("h2")?.textContent ?? "Confirm", content);
  dialog.classList.add("wide");
  dialog.dispatchEvent(new CustomEvent("filled", { bubbles: true }));
  (content.querySelector(".buttons .primary") ?? content.querySelector(".buttons > *"))?.focus();
}

/** Shows a toast. `onundo` adds a button; the returned function removes the toast. */
export function toast(text, onundo) {
  const shown = el("div", { className: "toast", role: "status" }, el("p", {}, text),
    onundo && el("button", { type: "button", className: "button small", onclick: () => { shown.remove(); onundo() } }, "Undo"));
  document.getElementById("toasts").replaceChildren(shown);
  return follow(shown);
}

/**
 * Gives a toast its close button, and removes it after a while unless the pointer or the focus is
 * on it.
 */
export function follow(shown) {
  const remove = () => shown.remove();
  shown.append(el("button", { type: "button", className: "button small quiet dismiss", onclick: remove, aria: { label: "Dismiss" } }));
  const wait = () => setTimeout(() => (shown.matches(":hover, :focus-within") ? wait() : remove()), shown.querySelectorAll("button").length > 1 ? TOAST_WITH_UNDO_MS : TOAST_MS);
  wait();
  return remove;
}
