/*
 * Creates elements. Texts are always set as text, so that user input is never parsed as markup.
 */

/** An element with properties (`on…` are listeners, `data` and `aria` are objects) and children. */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key === "aria") for (const [part, text] of Object.entries(value)) made.setAttribute(`aria-${part}`, text);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const button = (text, onclick, properties = {}) =>
  el("button", { type: "button", className: "button small", onclick, ...properties }, text);

/** The JSON Pointer of a path. */
export const pointer = (path) => path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** The path of a JSON Pointer. */
export const pathOf = (text) => text.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Announces a message to screen readers. */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  // A repeated message would not be announced again.
  announcer.textContent = announcer.textContent === text ? `${text}\u00a0` : text;
}

/** A labelled control. The control has the pointer of the value it edits, which is also its id. */
export function field(label, control, { hint, path, wide } = {}) {
  if (path) {
    control.dataset.pointer = pointer(path);
    control.id ||= `f${pointer(path)}`;
  }
  const hinted = hint && el("p", { className: "hint", id: `${control.id}-hint` }, hint);
  if (hinted) control.setAttribute("aria-describedby", hinted.id);
  return el("div", { className: wide ? "field wide" : "field" }, el("label", { htmlFor: control.id }, label), hinted, control);
}

/** A checkbox. */
export function tick(label, checked, onchange, path) {
  const box = el("input", { type: "checkbox", checked, onchange: () => onchange(box.checked) });
  if (path) box.dataset.pointer = pointer(path);
  return el("label", { className: "check" }, box, el("span", {}, label));
}

export function select(options, chosen, onchange, properties = {}) {
  const made = el("select", { className: "input", onchange: () => onchange(made.value), ...properties });
  for (const [value, text] of options) made.append(el("option", { value, selected: value === chosen }, text));
  return made;
}

/** Replaces the content of an element, and restores the focus. */
export function redraw(place, ...content) {
  const active = place.contains(document.activeElement) ? document.activeElement : null;
  const key = active?.dataset.pointer ?? active?.dataset.key;
  const range = active && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : null;
  place.replaceChildren(...content.flat().filter(Boolean));
  if (!key) return;
  const same = [...place.querySelectorAll("[data-pointer], [data-key]")];
  const again = same.find(({ dataset }) => (dataset.pointer ?? dataset.key) === key);
  again?.focus({ preventScroll: true });
  try { if (again && range?.[0] !== null) again.setSelectionRange?.(...range) } catch { /* not a text field */ }
}
