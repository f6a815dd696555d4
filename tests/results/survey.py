"""The survey that the check answers: its versions, and reproducible submissions and visits.

It has every question type. Versions differ in all ways that results must combine or keep apart: rewordings, added,
removed and relabelled options, added and removed questions, another type, another scale, and back again. The second and
third version have scores.
"""

import copy
import datetime
import random

FIRST_DAY = datetime.date(2025, 10, 1)
DAYS = 260
# A version accepts responses for this long after the next one was published, so versions overlap.
GRACE_DAYS = 20
LATE_SHARE = 0.2
UNANSWERED_SHARE = 0.25
TEXTS = ("shortText", "longText", "email", "url", "phone")


def options(**labels):
    return [{"id": id, "label": label} for id, label in labels.items()]


def scored(options, **scores):
    return [option | {"score": scores[option["id"]]} if option["id"] in scores else option for option in options]


FIRST = [
    {"id": "intro", "type": "statement", "prompt": "A few questions."},
    {"id": "nps", "type": "nps", "prompt": "How likely are you to recommend us?"},
    {"id": "stars", "type": "rating", "prompt": "How good is it?", "max": 5},
    {"id": "plan", "type": "singleChoice", "prompt": "Which plan?", "options": options(free="Free", pro="Pro", team="Team")},
    {"id": "country", "type": "dropdown", "prompt": "Where are you?", "allowOther": True,
     "options": options(de="Germany", fr="France", us="United States")},
    {"id": "use", "type": "multipleChoice", "prompt": "What do you use?", "allowOther": True,
     "options": options(api="The API", web="The website", app="The app")},
    {"id": "order", "type": "ranking", "prompt": "What matters most?", "options": options(price="Price", speed="Speed", care="Support")},
    {"id": "grid", "type": "matrix", "prompt": "How good is …", "rows": options(food="the food", room="the room"),
     "columns": options(bad="Bad", fine="Fine", great="Great")},
    {"id": "size", "type": "number", "prompt": "By how much did it change?"},
    {"id": "team", "type": "number", "prompt": "How many are you?", "min": 1, "max": 20, "integer": True},
    {"id": "since", "type": "date", "prompt": "Since when?"},
    {"id": "contact", "type": "yesNo", "prompt": "May we contact you?"},
    {"id": "terms", "type": "consent", "prompt": "I accept the rules."},
    {"id": "why", "type": "longText", "prompt": "Why?"},
    {"id": "name", "type": "shortText", "prompt": "Your name"},
    {"id": "mail", "type": "email", "prompt": "Your e-mail address"},
    {"id": "site", "type": "url", "prompt": "Your website"},
    {"id": "tel", "type": "phone", "prompt": "Your telephone number"},
]


def version(before, removed=(), added=(), **changes):
    """The questions of the version `before`, without some, with others, and with changed fields."""
    kept = [question | changes.get(question["id"], {}) for question in copy.deepcopy(before) if question["id"] not in removed]
    return [*kept, *added]


SECOND = version(
    FIRST, removed=["tel"], added=[{"id": "again", "type": "yesNo", "prompt": "Would you come again?"}],
    nps={"prompt": "Would you recommend us to a friend?"},
    plan={"options": scored(options(pro="Pro", team="Team", enterprise="Enterprise"), team=2.5, enterprise=-1.25)},
    use={"options": scored(options(cli="The command line", api="The API", app="The app"), cli=3, api=10, app=-0.5)},
    order={"options": options(care="Support", price="Price", speed="Speed", looks="Design")},
    grid={"rows": options(room="the room", food="the food", staff="the staff"),
          "columns": options(bad="Bad", fine="Fine", great="Great", best="Outstanding")},
)
THIRD = version(
    SECOND,
    nps={"score": "value"},
    stars={"max": 10, "score": "value"},
    plan={"prompt": "Which plan do you pay for?",
          "options": scored(options(team="Team plan", pro="Pro plan", enterprise="Enterprise plan"), team=0.75, enterprise=1000.1)},
    team={"type": "singleChoice", "min": None, "max": None, "integer": None, "options": options(small="Up to ten", large="More")},
)
FOURTH = version(
    THIRD, removed=["site"],
    nps={"score": None},
    stars={"max": 5, "prompt": "How good is it now?", "score": None},
    plan={"options": options(team="Team plan", pro="Pro plan", enterprise="Enterprise plan")},
    use={"options": options(cli="The command line", api="The API", app="The app")},
    order={"options": options(speed="Speed", price="Price")},
    grid={"rows": options(staff="our staff", room="the room")},
    why={"prompt": "Why that?"},
)


def published(questions):
    """As it is sent to the server, without the fields that a changed type does not have."""
    return [{name: value for name, value in question.items() if value is not None} for question in questions]


# The day of its first response, and its questions.
VERSIONS = [(0, published(FIRST)), (70, published(SECOND)), (140, published(THIRD)), (215, published(FOURTH))]

REASONS = ["Too slow on Mondays", "SLOWLY getting better", "Fine for us", "naïve “quotes”, slow; and; separators", "Größe passt",
           "=SUM(A1) looks like a formula", "0", "   leading spaces", "two\nlines, and slow"]
OTHERS = ["other:Narnia", "other:Île-de-France", "other:api", "other:The moon; and back"]


class Answering:
    """One reproducible sequence of submissions and visits."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def version_on(self, day):
        """The index of a version that accepts responses on this day, usually the newest."""
        newest = max(index for index, (first, _) in enumerate(VERSIONS) if first <= day)
        late = newest > 0 and day < VERSIONS[newest][0] + GRACE_DAYS and self.random.random() < LATE_SHARE
        return newest - 1 if late else newest

    def submission(self, index):
        # Half of the answers follow the mood, so that some questions go together and others do not.
        mood = self.random.random()
        answers = {}
        for question in VERSIONS[index][1]:
            if question["type"] == "statement":
                continue
            if self.random.random() < UNANSWERED_SHARE:
                if self.random.random() < 0.3:
                    answers[question["id"]] = self.random.choice(["", []])
                continue
            answers[question["id"]] = self.answer(question, mood)
        admission = "admitted" if self.random.random() < 0.3 else "collection_only"
        return {"answers": answers, "respondentAnalyticsAdmission": admission, "metadata": {"tags": self.tags()}}

    def tags(self):
        draw = self.random.random
        tags = {"tier": self.random.choice(["pro", "free", "free", "team"]), "campaign": f"mail-{int(150 * draw() ** 2)}"}
        if draw() < 0.4:
            tags["topic"] = self.random.choice(["red", "blue", ["red", "blue"], ["blue", "grün", "red"]])
        if draw() < 0.02:
            tags["note"] = self.random.choice(["short", "x" * 121])
        if draw() < 0.001:
            tags["seldom"] = "yes"
        return tags

    def answer(self, question, mood):
        pick, draw = self.random.choice, self.random.random
        follow = mood if draw() < 0.5 else draw()
        ids = [option["id"] for option in question.get("options", [])]
        other = question.get("allowOther") and draw() < 0.1
        match question["type"]:
            case "nps":
                return str(int(follow * 11))
            case "rating":
                return str(1 + int(follow * question["max"]))
            case "singleChoice" | "dropdown":
                return pick(OTHERS) if other else ids[int(follow**2 * len(ids))]
            case "multipleChoice":
                chosen = [id for id in ids if draw() < 0.5]
                return [*chosen, pick(OTHERS)] if other or not chosen else chosen
            case "ranking":
                return self.random.sample(ids, len(ids))
            case "matrix":
                columns = [column["id"] for column in question["columns"]]
                cells = [f"{row['id']}:{columns[int(follow * len(columns))]}" for row in question["rows"] if draw() < 0.8]
                return cells or [f"{question['rows'][0]['id']}:{columns[0]}"]
            case "number":
                return self.number(question)
            case "date":
                return self.date()
            case "yesNo":
                return "yes" if follow < 0.6 else "no"
            case "consent":
                return "accepted"
            case "longText":
                return pick(REASONS)
            case "shortText":
                return pick(["Ann", "Bob", "Zoë", "O'Neil", "李"]) + pick(["", " Smith", " SMITH"])
            case "email":
                return f"user{int(draw() * 5000)}@example.{pick(['com', 'org'])}"
            case "url":
                return f"https://example.com/{int(draw() * 100)}"
            case "phone":
                return f"+49 30 {int(draw() * 1_000_000):06}"
            case unknown:
                raise NotImplementedError(f"no answers to {unknown}")

    def number(self, question):
        draw = self.random.random
        if question.get("integer"):
            return str(self.random.randint(question["min"], question["max"]))
        kind = draw()
        if kind < 0.5:
            return str(self.random.randint(-60, 60))
        if kind < 0.9:
            return f"{self.random.uniform(-60, 60):.2f}"
        return f"{self.random.uniform(-3000, 3000):.3f}"

    def date(self):
        kind = self.random.random()
        if kind < 0.01:
            return f"{self.random.choice([1875, 2150])}-05-17"
        return str(datetime.date(2021, 1, 1) + datetime.timedelta(days=self.random.randrange(5 * 365)))

    def visit(self, index):
        """The steps of a visit to a version: it opens, and each question may be the last."""
        draw = self.random.random
        steps = [{"step": "opened"}]
        for place, question in enumerate(VERSIONS[index][1]):
            if question["id"] == "mail" and draw() < 0.3:
                continue  # skipped by logic
            steps.append({"step": "seen", "question": question["id"]})
            if draw() < 0.06:
                return steps
            if place == 0:
                steps.append({"step": "started"})
            steps.append({"step": "passed", "question": question["id"]})
        finished = {"step": "finished"}
        if draw() < 0.9:
            finished["seconds"] = round(3 + self.random.expovariate(1 / 90), 1)
        return [*steps, finished]
