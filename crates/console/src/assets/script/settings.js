/*
 * The settings pages: shows only the fields of the chosen kind of key.
 */
const kind = document.getElementById("type");
function showKind() {
  for (const part of document.querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== kind.value;
}
if (kind) {
  kind.addEventListener("change", showKind);
  showKind();
}
