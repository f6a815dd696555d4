"""Generates definitions that can be published, and submissions to them that break every rule.

Each choice comes from one seeded generator, so that a seed names a run. As a command it writes JSON
lines: `{"definition": …, "submissions": […]}`; its arguments are the seed, and how many of each.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

from near_rules import EMAIL_PARTS, IDENTITY_TYPES, JUNK, TAGS, TEXTS, URL_PARTS

TYPES = (
    "shortText longText email url phone number date singleChoice dropdown multipleChoice ranking "
    "matrix rating nps yesNo consent statement"
).split()


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: Any) -> Any:
        """A copy, because what is generated may be changed."""
        return copy.deepcopy(self.random.choice(choices))

    # --- definitions ---

    def definition(self) -> Dict[str, Any]:
        count = self.random.randint(1, 9)
        questions: List[Dict[str, Any]] = []
        for at in range(count):
            question = self.question(f"q{at}", self.pick(TYPES))
            if questions and self.chance(0.4):
                question["visibleIf"] = self.condition(questions, 1)
            questions.append(question)
        endings = [f"e{at}" for at in range(self.random.randint(0, 3))]
        for at, question in enumerate(questions):
            if self.chance(0.3):
                question["next"] = self.jumps(questions, at, endings)
        definition: Dict[str, Any] = {"title": "T", "questions": questions}
        if endings:
            definition["endings"] = [self.ending(id, questions) for id in endings]
        if self.chance(0.3):
            definition["sections"] = self.sections(questions)
        return definition

    def question(self, id: str, type: str) -> Dict[str, Any]:
        question: Dict[str, Any] = {"id": id, "type": type, "prompt": "?"}
        if type != "statement" and self.chance(0.5):
            question["required"] = True
        if type in ("shortText", "longText", "email", "url", "phone"):
            self.bounds(question, "minLength", "maxLength", 0, 24)
            if question.get("maxLength") == 0:
                del question["maxLength"]
        elif type == "number":
            self.bounds(question, "min", "max", -10, 20)
            for bound in ("min", "max"):
                if bound in question and self.chance(0.2):
                    question[bound] = question[bound] + (0.5 if bound == "max" else -0.25)
            if self.chance(0.3):
                question["integer"] = True
        elif type == "date":
            days = sorted(
                self.random.sample(["2020-01-01", "2024-02-29", "2026-11-15", "2030-12-31"], 2)
            )
            for bound, day in zip(("min", "max"), days):
                if self.chance(0.4):
                    question[bound] = day
        elif type in ("singleChoice", "dropdown", "multipleChoice", "ranking"):
            self.options(question, type)
        elif type == "matrix":
            question["rows"] = self.choices("r", self.random.randint(1, 3))
            question["columns"] = self.choices("c", self.random.randint(1, 3))
        elif type == "rating" and self.chance(0.6):
            question["max"] = self.random.randint(3, 10)
        if type in ("rating", "nps") and self.chance(0.5):
            question["score"] = "value"
        return question

    def bounds(self, question: Dict[str, Any], low: str, high: str, least: int, most: int) -> None:
        ends = sorted((self.random.randint(least, most), self.random.randint(least, most)))
        for name, end in zip((low, high), ends):
            if self.chance(0.4):
                question[name] = end

    def choices(self, prefix: str, count: int) -> List[Dict[str, Any]]:
        return [{"id": f"{prefix}{at}", "label": f"Label {at}"} for at in range(count)]

    def options(self, question: Dict[str, Any], type: str) -> None:
        count = 25 if self.chance(0.05) else self.random.randint(2 if type == "ranking" else 1, 4)
        question["options"] = self.choices("o", count)
        if type == "ranking":
            return
        for option in question["options"]:
            if self.chance(0.3):
                option["score"] = self.pick([1, -2, 0.1, 0.2, 2.25, 100, 0])
        if self.chance(0.4):
            question["allowOther"] = True
            count += 1
        if type == "multipleChoice":
            self.bounds(question, "minSelected", "maxSelected", 1, count)

    def ending(self, id: str, questions: List[Dict[str, Any]]) -> Dict[str, Any]:
        ending: Dict[str, Any] = {"id": id, "title": id}
        if self.chance(0.7):
            ending["when"] = self.condition(questions, 1)
        return ending

    def sections(self, questions: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        ids = [question["id"] for question in questions]
        start = self.random.randrange(len(ids))
        end = self.random.randint(start + 1, len(ids))
        return [{"id": "s", "questions": ids[start:end]}]

    def jumps(
        self, questions: List[Dict[str, Any]], at: int, endings: List[str]
    ) -> List[Dict[str, Any]]:
        later = [question["id"] for question in questions[at + 1 :]]
        targets = later + ["end"] + [f"end:{ending}" for ending in endings]
        jumps = [
            {"when": self.condition(questions[: at + 1], 1), "to": self.pick(targets)}
            for _ in range(self.random.randint(0, 2))
        ]
        if self.chance(0.2) or not jumps:
            jumps.append({"to": self.pick(targets)})
        return jumps

    def condition(self, questions: List[Dict[str, Any]], depth: int) -> Dict[str, Any]:
        if depth < 4 and self.chance(0.3):
            name = self.pick(["all", "any", "not"])
            if name == "not":
                return {"not": self.condition(questions, depth + 1)}
            return {
                name: [
                    self.condition(questions, depth + 1) for _ in range(self.random.randint(1, 3))
                ]
            }
        if self.chance(0.15) and any(map(is_scored, questions)):
            test = self.pick(["equals", "lessThan", "greaterThan"])
            return {"score": True, test: self.pick([0, 1, 2.25, 5, 0.3, -1, 12])}
        asked = [question for question in questions if question["type"] != "statement"]
        if not asked:
            return self.always(questions)
        return self.about(self.pick(asked))

    def always(self, questions: List[Dict[str, Any]]) -> Dict[str, Any]:
        """Turns a statement into a question, because a condition needs one."""
        questions[0].update({"type": "yesNo"})
        return {"question": questions[0]["id"], "answered": self.chance(0.5)}

    def about(self, question: Dict[str, Any]) -> Dict[str, Any]:
        type, test = question["type"], "answered"
        operands: List[Any] = []
        if type in ("multipleChoice", "matrix"):
            test = self.pick(["includes", "answered"])
            operands = self.known(question)
        elif type != "ranking":
            tests = ["equals", "in", "notIn", "answered"]
            if type in ("number", "date", "rating", "nps"):
                tests += ["lessThan", "greaterThan"]
            test = self.pick(tests)
            operands = self.known(question)
        if test == "answered":
            return {"question": question["id"], test: self.chance(0.7)}
        if test in ("in", "notIn"):
            return {"question": question["id"], test: [self.pick(operands) for _ in range(2)]}
        return {"question": question["id"], test: self.pick(operands)}

    def known(self, question: Dict[str, Any]) -> List[Any]:
        """What a condition may compare the answers to a question with."""
        type = question["type"]
        if type in ("number", "rating", "nps"):
            return [0, 1, 3, 7, 7.5, -0.1, 10, 0.1, 1e-7]
        if type == "date":
            return ["2024-02-29", "2026-11-15", "2020-01-01"]
        if type == "matrix":
            return [
                f"{row['id']}:{it['id']}" for row in question["rows"] for it in question["columns"]
            ]
        if "options" in question:
            other = ["other"] if question.get("allowOther") else []
            return [option["id"] for option in question["options"]] + other
        if type == "yesNo":
            return ["yes", "no"]
        if type == "consent":
            return ["accepted"]
        return [text for text in TEXTS[type] if 0 < len(text) <= 500]

    # --- submissions ---

    def submission(self, definition: Dict[str, Any]) -> Dict[str, Any]:
        """Without its `flowVersionId`."""
        answers = self.answers(definition)
        submission: Dict[str, Any] = {
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": self.pick(["collection_only", "admitted"]),
            "answers": answers,
        }
        if self.chance(0.15):
            self.break_shape(submission)
        return submission

    def answers(self, definition: Dict[str, Any]) -> Dict[str, Any]:
        answers: Dict[str, Any] = {}
        # Some submissions are careful, so that many are accepted.
        invalid = self.pick([0.0, 0.0, 0.05, 0.3])
        for question in definition["questions"]:
            if self.chance(0.15):
                continue
            if self.chance(invalid):
                answers[question["id"]] = self.any_answer(question)
            else:
                answer = self.good_answer(question)
                if answer is not None:
                    answers[question["id"]] = answer
        if self.chance(0.05):
            answers[self.pick(["unknown", "q99", "", "x" * 70, "Ä"])] = "x"
        return answers

    def good_answer(self, question: Dict[str, Any]) -> Any:
        """An answer that is likely to be valid."""
        type = question["type"]
        good: Optional[Any] = None
        if type in ("singleChoice", "dropdown"):
            good = self.pick(self.chosen(question))
        elif type == "multipleChoice":
            options = self.chosen(question)
            least = min(question.get("minSelected", 1), len(options))
            most = min(question.get("maxSelected", len(options)), len(options))
            good = self.random.sample(options, self.random.randint(least, max(least, most)))
        elif type == "ranking":
            good = self.random.sample(
                [it["id"] for it in question["options"]], len(question["options"])
            )
        elif type == "matrix":
            good = [
                f"{row['id']}:{self.pick(question['columns'])['id']}" for row in question["rows"]
            ]
        elif type == "rating":
            good = str(self.random.randint(1, question.get("max", 5)))
        elif type == "nps":
            good = str(self.random.randint(0, 10))
        elif type in ("shortText", "longText"):
            least = question.get("minLength", 1)
            good = "ä" * self.random.randint(
                least, max(least, question.get("maxLength", least + 3))
            )
        elif type == "number" and self.chance(0.6):
            least = int(question.get("min", -3))
            good = str(self.random.randint(least, max(least, int(question.get("max", 25)))))
        elif type == "date" and self.chance(0.6):
            good = question.get("min") or question.get("max") or "2026-11-15"
        elif type in ("yesNo", "consent"):
            good = TEXTS[type][0]
        elif type != "statement":
            good = self.pick(TEXTS[type])
        return [good] if isinstance(good, str) and self.chance(0.1) else good

    def chosen(self, question: Dict[str, Any]) -> List[str]:
        own = ["other:mine"] if question.get("allowOther") else []
        return [option["id"] for option in question["options"]] + own

    def any_answer(self, question: Dict[str, Any]) -> Any:
        type = question["type"]
        if "options" in question:
            pool = self.chosen(question) + [
                "o99",
                "other:",
                "other: \u3000",
                "other:" + "x" * 1001,
                "other",
                "",
            ]
            pool += ["other:second"]
        elif type == "matrix":
            pool = self.known(question) + ["r0", "r0:c99", "x:c0", "r0:c0:c0", ":", ""]
        else:
            pool = TEXTS[type]
        if self.chance(0.05):
            return self.pick(JUNK)
        if self.chance(0.5 if type in ("multipleChoice", "ranking", "matrix") else 0.1):
            return [self.pick(pool) for _ in range(self.random.randint(0, 5))]
        return self.pick(pool)

    def break_shape(self, submission: Dict[str, Any]) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.pick(
                [
                    self.break_field,
                    self.break_identities,
                    self.break_tags,
                    self.break_answers,
                    self.break_others,
                ]
            )(submission)

    def break_field(self, submission: Dict[str, Any]) -> None:
        name = self.pick(list(submission))
        if self.chance(0.3):
            del submission[name]
        else:
            submission[name] = self.pick(JUNK + ["5", "Admitted", "admitted"])

    def break_identities(self, submission: Dict[str, Any]) -> None:
        if self.chance(0.2):
            submission["identities"] = self.pick(JUNK)
            return
        count = self.pick([1, 2, 3, 11, 101]) if self.chance(0.3) else self.random.randint(1, 3)
        submission["identities"] = [self.identity() for _ in range(count)]

    def identity(self) -> Any:
        if self.chance(0.1):
            return self.pick(JUNK)
        type = self.pick(IDENTITY_TYPES)
        values = TEXTS["email"] + [
            "u-7",
            "",
            "u" * 255,
            "u" * 256,
            "x" * 501,
            "ä" * 254 + "@a.de",
            "a\0b",
        ]
        identity = {"type": type, "value": self.pick(values)}
        if self.chance(0.1):
            identity[self.pick(["type", "value"])] = self.pick(JUNK)
        if self.chance(0.05):
            del identity[self.pick(["type", "value"])]
        return identity

    def break_tags(self, submission: Dict[str, Any]) -> None:
        if self.chance(0.2):
            submission["metadata"] = self.pick(JUNK)
        elif self.chance(0.2):
            submission["metadata"] = {"tags": self.pick(JUNK)}
        else:
            values = JUNK + [
                "pro",
                "x" * 500,
                "x" * 501,
                ["a", "b"],
                ["x" * 501],
                ["a"] * 51,
                {"a": {}},
            ]
            names = TAGS if self.chance(0.8) else [f"t{at}" for at in range(self.pick([50, 51]))]
            count = len(names) if len(names) > 10 else 3
            chosen = self.random.sample(names, count)
            submission["metadata"] = {"tags": {name: self.pick(values) for name in chosen}}

    def break_answers(self, submission: Dict[str, Any]) -> None:
        answers = submission.get("answers")
        if not isinstance(answers, dict):
            return
        kind = self.random.randrange(4)
        if kind == 0:
            answers[self.pick(["q0", "a\0b", "zz"])] = self.pick(JUNK)
        elif kind == 1:
            answers["q0"] = self.pick(["x" * 16_384, "x" * 16_385, "ä" * 16_385, ["x" * 9_000] * 2])
        elif kind == 2:
            answers["q0"] = ["o0"] * self.pick([1000, 1001, 1002])
        else:
            answers.update({f"x{at}": "1" for at in range(self.pick([299, 301]))})

    def break_others(self, submission: Dict[str, Any]) -> None:
        if self.chance(0.5):
            values = JUNK + ["x" * 255, "x" * 256, "fa_1"]
            submission["flowAssignmentId"] = self.pick(values)
        else:
            keys = JUNK + ["", "ä", "k" * 256, "a\tb"]
            submission["idempotencyKey"] = self.pick(keys)
        submission["context"] = self.pick(JUNK)


def address(generator: Generator, type: str) -> str:
    """A web or e-mail address, or nearly one."""
    if generator.chance(0.2):
        return str(generator.pick(TEXTS[type]))
    if type == "url":
        count = generator.random.randint(1, 7)
        host = "".join(generator.pick(URL_PARTS) for _ in range(count))
        schemes = ["http://", "https://"] * 5 + [
            "HTTP://",
            "http:/",
            "http:",
            "https:///",
            "ws://",
            "",
        ]
        return str(generator.pick(schemes)) + host
    count = generator.random.randint(1, 4)
    local, domain = ("".join(generator.pick(EMAIL_PARTS) for _ in range(count)) for _ in range(2))
    return f"{local}@{domain}.com" if generator.chance(0.7) else local + domain


def lines(seed: int, definitions: int, submissions: int) -> Iterator[Tuple[Any, List[Any]]]:
    generator = Generator(seed)
    for _ in range(definitions):
        definition = generator.definition()
        yield definition, [generator.submission(definition) for _ in range(submissions)]


def is_scored(question: Dict[str, Any]) -> bool:
    options = question.get("options") or []
    return question.get("score") == "value" or any("score" in option for option in options)


def main() -> None:
    given = [int(it) for it in sys.argv[1:]] + [7, 10, 10][len(sys.argv) - 1 :]
    for definition, submissions in lines(*given):
        print(json.dumps({"definition": definition, "submissions": submissions}))


if __name__ == "__main__":
    main()
