// 5 of 10: keeps answers in the browser until they are stored.
//
// By address, so that two invitations in one browser do not share a draft. Not with a token: the
// next user of this browser may be another person. If storage is full or forbidden, nothing is
// kept.

const DRAFT_MS_MAX = 7 * 24 * 3600 * 1000;
/** Fields with answers; the other fields belong to the server. */
const THEIRS = /^(answers|other|matrix|rank)\.|^analytics$/;

const draftName = (main) => `sluice:${main.dataset.flow}${location.search}`;

function keepDraft({ main, form, sections }) {
  if (token || isPreview(main)) return;
  const draft = {
    at: Date.now(),
    key: form.elements.key.value,
    step: form.elements.step.value,
    types: typesOf(sections),
    fields: fieldsOf(form),
  };
  try { localStorage.setItem(draftName(main), JSON.stringify(draft)) } catch {}
}

/** The current answers. */
const fieldsOf = (form) => [...new FormData(form)].filter(([name]) => THEIRS.test(name));

function dropDraft(main) {
  try { localStorage.removeItem(draftName(main)) } catch {}
}

/** Fills the form from its draft. Returns whether there was one. */
function restoreDraft({ main, form, sections, section }) {
  let draft = null;
  try { draft = JSON.parse(localStorage.getItem(draftName(main))) } catch {}
  if (token || isPreview(main) || !(draft?.at > Date.now() - DRAFT_MS_MAX) || !draft.fields.some(([, value]) => value)) return false;
  // The key is part of the draft: if the last attempt was stored, the next one stores nothing.
  form.elements.key.value = draft.key;
  form.elements.step.value = draft.step;
  fillIn(form, draft);
  for (const each of sections) each.dispatchEvent(new Event("restored"));
  return true;
}

function fillIn(form, { fields, types }) {
  for (const [name, value] of fields) {
    const id = name.split(".")[1];
    // The version may have changed: a question of another type gets no old answer.
    if (id && survey.section(id)?.dataset.type !== types[id]) continue;
    for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
      if (isTicked(field)) field.checked ||= field.value === value;
      else field.value = value;
    }
  }
}

const typesOf = (sections) => Object.fromEntries(sections.map(({ dataset }) => [dataset.id, dataset.type]));
