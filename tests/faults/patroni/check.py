"""The checker: what clients were told against what is stored. It knows nothing of databases or faults.

A submission has an `id`, which is in its answers too, a `key`, and a `digest` of what was sent. Its
events are invoke, then ok, refused or unknown; a retry adds more. The last thing told is what counts,
except that an ok is never taken back.
"""


def violations(events, stored):
    """Every broken promise as a sentence. `stored` are (id, digest) of all rows; events are dicts."""
    sent, told = {}, {}
    for event in events:
        name = event["id"]
        if event["event"] == "invoke":
            sent[name] = event
        elif told.get(name) != "ok":
            told[name] = event["event"]
        elif event["event"] == "refused":
            yield f"{name}: acknowledged, and later refused"
    rows, by_key = {}, {}
    for name, digest in stored:
        if name not in sent:
            yield f"{name}: stored, and nobody sent it"
            continue
        rows[name] = rows.get(name, 0) + 1
        by_key.setdefault(sent[name]["key"], []).append(name)
        if digest != sent[name]["digest"]:
            yield f"{name}: stored otherwise than sent"
    for key, names in by_key.items():
        if len(names) > 1:
            yield f"{key}: stored {len(names)} times"
    for name in sent:
        outcome = told.get(name, "unknown")
        if outcome == "ok" and name not in rows:
            yield f"{name}: acknowledged and lost"
        if outcome == "refused" and name in rows:
            yield f"{name}: refused and stored"
        if outcome == "unknown":
            yield f"{name}: never settled by a retry"
