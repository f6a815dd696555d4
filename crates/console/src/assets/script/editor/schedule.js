/*
 * Times of a form in the reader's time zone. The server sends and receives UTC; the fields show local time. Without
 * JavaScript they are in UTC, and labelled so. An unchanged field is sent back unchanged, because an hour that occurs
 * twice would otherwise be ambiguous.
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
