/*
 * Times of a form in the reader's own zone. The fields come from the server in UTC and go back to it in UTC; in
 * between they are what the reader's clock shows. Without a script they are in UTC, and say so. One that was not
 * touched goes back as it came: an hour that a clock shows twice would come back as another.
 */

const pad = (number) => String(number).padStart(2, "0");

const localText = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;

export function schedule(form) {
  if (!form) return;
  const fields = [...form.querySelectorAll("input[type=datetime-local]")];
  const given = new Map();
  for (const field of fields) {
    if (!field.value) continue;
    const utc = field.value;
    field.value = localText(new Date(`${utc}Z`));
    given.set(field, { utc, shown: field.value });
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const place of form.querySelectorAll("[data-utc]")) place.textContent = zone;
  form.addEventListener("formdata", ({ formData }) => {
    for (const field of fields) {
      const { utc, shown } = given.get(field) ?? {};
      if (field.value && field.value === shown) formData.set(field.name, utc);
      else if (field.value) formData.set(field.name, new Date(field.value).toISOString().slice(0, 16));
    }
  });
}
