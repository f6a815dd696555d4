// 8 of 10: reports how far visitors come, as steps without any identifier.
//
// Nothing is kept in the browser: a page load is a visit, and each step is reported once. All steps
// so far are sent together when the page is hidden or the answers are stored. A question counts if
// it is further than all before.

/** The visit to the version that is shown; in a preview, none. */
let visit = {};

function beginVisit({ visits, version }, sections) {
  if (visit.version === version) return;
  sendSteps();
  const ids = sections.map(({ dataset }) => dataset.id);
  visit = visits ? { visits, version, ids, at: Date.now(), furthest: -1, steps: [{ step: "opened" }] } : {};
}

function startVisit() {
  if (!visit.started) visit.steps?.push({ step: "started" });
  visit.started = true;
}

/** A question is shown, after those of `route`. */
function reach(route, section) {
  for (const { dataset } of route.slice(0, route.indexOf(section) + 1)) {
    const at = visit.ids?.indexOf(dataset.id);
    if (!(at > visit.furthest)) continue;
    pass();
    visit.furthest = at;
    visit.steps.push({ step: "seen", question: dataset.id });
  }
}

/** The visitor moves on from the furthest question. */
function pass() {
  const question = visit.ids?.[visit.furthest];
  if (!question) return;
  startVisit();
  visit.steps.push({ step: "passed", question });
}

function finishVisit() {
  if (!visit.steps) return;
  pass();
  startVisit();
  visit.steps.push({ step: "finished", seconds: Math.max(Date.now() - visit.at, 0) / 1000 });
  sendSteps();
  visit = {};
}

function sendSteps() {
  const { visits, version: flowVersionId, steps } = visit;
  // A page that is prerendered may never be shown.
  if (!steps?.length || document.prerendering) return;
  visit.steps = [];
  ask(visits, { method: "POST", keepalive: true, body: JSON.stringify({ flowVersionId, steps }) }).catch(() => {});
}
