/*
 * The list of flows and the templates: a menu that closes when it loses focus, and template previews in a dialog
 * instead of another tab.
 */

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.choices[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const link = event.target.closest("a[data-shows]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(link.href, link.dataset.shows);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = event.target.closest?.("details.choices[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

/** Shows a page of the console in a dialog, which is removed when it is closed. */
function show(address, title) {
  const dialog = document.createElement("dialog");
  dialog.className = "showing";
  dialog.setAttribute("aria-label", title);
  const heading = Object.assign(document.createElement("h2"), { textContent: title });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: "Close" });
  const frame = Object.assign(document.createElement("iframe"), { src: address, title });
  const top = document.createElement("header");
  top.append(heading, close);
  dialog.append(top, frame);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
