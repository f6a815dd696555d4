"""What the funnel must be, from the visits that were reported; see docs/funnel.md."""

import collections

import survey


class Visits:
    """Every step that was reported, by day and version."""

    def __init__(self):
        self.steps = collections.Counter()
        self.seconds = []

    def add(self, day, number, steps):
        for step in steps:
            self.steps[day, number, step["step"], step.get("question")] += 1
            if "seconds" in step:
                self.seconds.append((day, number, step["seconds"]))

    def count(self, chosen, step, question=None):
        return sum(count for (day, number, *own), count in self.steps.items() if own == [step, question] and chosen(day, number))

    def check(self, check, place, reply, chosen, version, ids):
        for step in ("opened", "started", "finished"):
            check.equal(f"{place} {step}", reply[step], self.count(chosen, step))
        check.equal(f"{place} questions", reply["questions"], [self.question(chosen, *it) for it in questions(version)])
        times = {it["number"]: it["publishedAt"] for it in reply["versions"]}
        check.equal(f"{place} versions", reply["versions"], [
            {"flowVersionId": ids[number], "number": number, "publishedAt": times.get(number),
             **{step: self.of_version(number, step, chosen if version is None else None) for step in ("opened", "finished")}}
            for number in sorted(ids, reverse=True)])
        self.check_times(check, place, reply["timeToFinish"], chosen)

    def of_version(self, number, step, chosen):
        return self.count(lambda day, own: own == number and (chosen is None or chosen(day, own)), step)

    def question(self, chosen, question, asked_until):
        seen, passed = self.count(chosen, "seen", question["id"]), self.count(chosen, "passed", question["id"])
        return {"id": question["id"], "type": question["type"], "prompt": question["prompt"], "askedUntil": asked_until,
                "seen": seen, "passed": passed, "left": seen - passed}

    def check_times(self, check, place, reply, chosen):
        times = sorted(seconds for day, number, seconds in self.seconds if chosen(day, number))
        if not times:
            return check.equal(f"{place} times", reply, None)
        check.equal(f"{place} times", reply["times"], len(times))
        low, high = times[(len(times) - 1) // 2], times[len(times) // 2]
        start, end = reply["fromSeconds"], reply["toSeconds"]
        is_within = start <= high and low < end and start <= reply["medianSeconds"] <= end
        check.equal(f"{place}: the median {low} to {high} is between {start} and {end}", is_within, True)
        # A range is at most a fifth longer than it starts; whole seconds are the smallest.
        check.equal(f"{place}: {start} to {end} is narrow", end - start <= max(1, start / 5 + 1), True)


def questions(version):
    """Those of the selected version; without one, in the order of the newest version, and then those that it does not ask."""
    last_asked, found = {}, {}
    for number, (_, asked) in reversed(list(enumerate(survey.VERSIONS, 1))):
        for question in asked:
            last_asked.setdefault(question["id"], number)
            if version in (None, number):
                found.setdefault(question["id"], question)
    newest = len(survey.VERSIONS)
    return [(question, last_asked[id] if last_asked[id] < newest else None) for id, question in found.items()]
