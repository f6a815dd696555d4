/*
 * Takes the secret out of the link and puts it into the form, so that nobody need see it. It leaves the address bar
 * at once, and with it the history.
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
