"""The checker: compares the replies that clients got with the stored rows. Independent of databases and faults.

A submission has an `id`, which is also in its answers, a `key`, and a `digest` of its content. Its events
are invoke, then ok, refused or unknown; a retry adds more. The last outcome counts, except that an ok is
final.
"""

LOST = "acknowledged and lost"


def violations(events, stored):
    """Every violation as a sentence. `stored` has (id, digest) of all rows; events are dicts."""
    sent, outcomes = {}, {}
    for event in events:
        name = event["id"]
        if event["event"] == "invoke":
            sent[name] = event
        elif outcomes.get(name) != "ok":
            outcomes[name] = event["event"]
        elif event["event"] == "refused":
            yield f"{name}: acknowledged, later refused"
    rows, by_key = {}, {}
    for name, digest in stored:
        if name not in sent:
            yield f"{name}: stored, but never sent"
            continue
        rows[name] = rows.get(name, 0) + 1
        by_key.setdefault(sent[name]["key"], []).append(name)
        if digest != sent[name]["digest"]:
            yield f"{name}: stored with other content"
    for key, names in by_key.items():
        if len(names) > 1:
            yield f"{key}: stored {len(names)} times"
    for name in sent:
        outcome = outcomes.get(name, "unknown")
        if outcome == "ok" and name not in rows:
            yield f"{name}: {LOST}"
        if outcome == "refused" and name in rows:
            yield f"{name}: refused and stored"
        if outcome == "unknown":
            yield f"{name}: never resolved by a retry"
