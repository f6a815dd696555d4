/*
 * For every page of the console: times in the reader's time zone, copy buttons, menus, dialogs,
 * toasts, the theme switch. Everything works without it.
 */

import { ask, follow, openPage } from "./dialogs.js";
import "./shortcuts.js";
import { siteAddress } from "./site.js";
import { localTimes } from "./times.js";

export { localTimes };

/** Buttons that copy the content of the element that they name. */
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const announcer = document.getElementById("announcer");
  const words = [...button.childNodes];
  try {
    await navigator.clipboard.writeText("value" in source ? source.value : source.textContent);
    button.textContent = "Copied";
    announcer.textContent = "Copied.";
  } catch {
    // Without clipboard permission, select the text so that the keyboard can copy it.
    getSelection().selectAllChildren(source);
    announcer.textContent = "Selected: press Ctrl+C to copy.";
  }
  setTimeout(() => button.replaceChildren(...words), 1500);
}

const themes = ["", "light", "dark"];

/** The theme, stored in a cookie so that the server renders the next page with it. */
function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.hidden = false;
    button.textContent = { "": "Theme: automatic", light: "Theme: light", dark: "Theme: dark" }[theme];
  }
}

const shownTheme = () => document.documentElement.dataset.theme ?? "";

applyTheme(shownTheme());
// On a wide screen, also after the window was widened, the side bar is always visible; a closed one
// would be hidden from screen readers.
const menu = document.querySelector("details.menu");
const wide = matchMedia("(min-width: 56.01rem)");
const openMenu = () => (menu.open = wide.matches);
if (menu) {
  openMenu();
  wide.addEventListener("change", openMenu);
}
// On a narrow screen the current tab may be outside the visible part of the row.
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - tab.parentElement.clientWidth + tab.offsetWidth;
/** Marks the edges of a row of tabs beyond which there are more. */
function markEdges(tabs) {
  const [first, last, box] = [tabs.firstElementChild, tabs.lastElementChild, tabs].map((each) => each.getBoundingClientRect());
  const edges = [Math.min(first.left, last.left) < box.left - 1 && "left", Math.max(first.right, last.right) > box.right + 1 && "right"];
  tabs.dataset.more = edges.filter(Boolean).join(" ");
}

for (const tabs of document.querySelectorAll(".tabs")) {
  if (!tabs.firstElementChild) continue;
  tabs.addEventListener("scroll", () => markEdges(tabs), { passive: true });
  new ResizeObserver(() => markEdges(tabs)).observe(tabs);
}
localTimes(document);
for (const zone of document.querySelectorAll("[data-zone]")) {
  zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The address without the name of the message, so that a reload does not show it again. */
function forgetDone() {
  const address = new URL(location.href);
  if (!address.searchParams.has("done")) return;
  address.searchParams.delete("done");
  history.replaceState(history.state, "", address);
}

for (const shown of document.querySelectorAll(".toasts .toast")) follow(shown);
forgetDone();

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.choices[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const button = event.target.closest("button, a");
  if (!button) return;
  const isPlain = !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (button.hasAttribute("data-dialog") && isPlain) {
    event.preventDefault();
    openPage(button.href);
  }
  if (button.dataset.copy) copy(button);
  if (button.dataset.opens) {
    const dialog = document.getElementById(button.dataset.opens);
    if (dialog instanceof HTMLDialogElement) {
      event.preventDefault();
      // Without a script it is a part of the page.
      if (!dialog.matches(":modal")) dialog.close();
      if (!dialog.open) dialog.showModal();
    }
  }
  if (button.hasAttribute("data-closes") && button.closest("dialog")) {
    event.preventDefault();
    button.closest("dialog").close();
  }
  if (button.hasAttribute("data-theme-switch")) {
    const theme = themes[(themes.indexOf(shownTheme()) + 1) % themes.length];
    document.cookie = `sluice_theme=${theme}; Path=${siteAddress("console")}; Max-Age=31536000; SameSite=Lax`;
    applyTheme(theme);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = event.target.closest?.("details.choices[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// A form with `data-confirm` asks first.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const question = form.dataset?.confirm;
  if (!question || "confirmed" in form.dataset) return;
  event.preventDefault();
  const { submitter } = event;
  const button = submitter ?? form.querySelector("[type=submit]");
  const isDanger = button?.classList.contains("danger");
  // The visible part of the label; the rest names the row for screen readers.
  if (!(await ask(question, button?.firstChild?.textContent.trim() || "Continue", { isDanger }))) return;
  form.dataset.confirmed = "";
  form.requestSubmit(submitter);
});

document.addEventListener("filled", ({ target }) => localTimes(target));

// Focus the error summary, so that it is read first.
document.querySelector(".errors[tabindex]")?.focus();
