/*
 * What every page of the console gets: times in the reader's zone, buttons that copy, dialogs, the switch between
 * light and dark. Everything works without it; this only makes it nicer.
 */

/** Writes every <time> in the reader's own zone, and says which one that is. */
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

/** Buttons that copy what stands in the element that they name. */
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const said = document.getElementById("said");
  const words = [...button.childNodes];
  try {
    await navigator.clipboard.writeText("value" in source ? source.value : source.textContent);
    button.textContent = "Copied";
    said.textContent = "Copied.";
  } catch {
    // Without the right to the clipboard the text is selected, so that the keyboard can copy it.
    getSelection().selectAllChildren(source);
    said.textContent = "Selected: press Ctrl+C to copy.";
  }
  setTimeout(() => button.replaceChildren(...words), 1500);
}

const themes = ["", "light", "dark"];

/** The reader's choice of light or dark. It is kept in a cookie, so that the next page comes in it. */
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
// On a wide screen the side bar is always in view; what is not open is not there for a screen reader.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(min-width: 56.01rem)").matches) menu.open = true;
// On a narrow screen the tab of the page may be the last of a row that scrolls.
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

// A form that cannot be undone asks first, where it names its question.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset?.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// The summary of what is wrong is read aloud first.
document.querySelector(".errors[tabindex]")?.focus();
