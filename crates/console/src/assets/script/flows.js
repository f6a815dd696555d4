/*
 * The templates: previews in a dialog instead of another tab.
 */

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-shows]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(link.href, link.dataset.shows);
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
