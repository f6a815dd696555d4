/*
 * For every page of the console: times in the reader's time zone, copy buttons, dialogs, the theme switch. Everything
 * works without it.
 */

/** Shows every <time> in the reader's time zone, with the name of the zone. */
export function localTimes(root) {
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  for (const element of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    element.textContent = (element.dataset.only === "day" ? day : full).format(at);
    element.title = zoned.format(at);
    element.dataset.local = "";
  }
}

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
// On a wide screen the side bar is always visible; a closed one would be hidden from screen readers.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(min-width: 56.01rem)").matches) menu.open = true;
// On a narrow screen the current tab may be outside the visible part of the row.
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - tab.parentElement.clientWidth + tab.offsetWidth;
localTimes(document);
for (const zone of document.querySelectorAll("[data-zone]")) {
  zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button, a");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  if (button.dataset.opens) {
    const dialog = document.getElementById(button.dataset.opens);
    if (dialog instanceof HTMLDialogElement) {
      event.preventDefault();
      dialog.showModal();
    }
  }
  if (button.hasAttribute("data-closes")) button.closest("dialog")?.close();
  if (button.hasAttribute("data-theme-switch")) {
    const theme = themes[(themes.indexOf(shownTheme()) + 1) % themes.length];
    document.cookie = `sluice_theme=${theme}; Path=/console; Max-Age=31536000; SameSite=Lax`;
    applyTheme(theme);
  }
});

// A form with `data-confirm` asks for confirmation.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset?.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// Focus the error summary, so that it is read first.
document.querySelector(".errors[tabindex]")?.focus();
