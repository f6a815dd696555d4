/*
 * The icon of a question type, as the server wrote it into the page.
 */

const SVG = "http://www.w3.org/2000/svg";

export function typeIcon(type) {
  const drawing = document.createElementNS(SVG, "svg");
  const attributes = {
    viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round",
    "stroke-linejoin": "round", "aria-hidden": "true", focusable: "false", class: "type-icon",
  };
  for (const [name, value] of Object.entries(attributes)) drawing.setAttribute(name, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", type?.icon ?? "M12 17h.01M9 9a3 3 0 1 1 4 3c-.6.3-1 .9-1 1.5");
  drawing.append(path);
  return drawing;
}
