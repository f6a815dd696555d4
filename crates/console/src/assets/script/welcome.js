/*
 * Moves the secret from the link into the form, and removes it from the address bar and the history
 * immediately.
 */
const field = document.getElementById("code");
const code = location.hash.slice(1);
if (code) {
  field.value = code;
  history.replaceState(null, "", location.pathname);
}
if (field.value && field.getAttribute("aria-invalid") !== "true") {
  document.querySelector("[data-code]").hidden = true;
}
