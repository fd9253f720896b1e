"""Exchanges with the real server: how to read them, the state before each, and what differs.

`recorded.json.gz` holds exchanges with four versions of it: a selection, long answers shortened,
some states prepared by SQL. The tests replay each one on a state that is made of the exchange
itself: the records that its path, query, body and answer name, as they were before the request.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import json
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pmservice


class Exchange(NamedTuple):
    """A request to the real server and its answer. The name begins with "v16" if 16.x answered."""

    name: str
    method: str
    path: str
    body: Any
    status: int
    answer: Any

    @property
    def version(self) -> str:
        return "16" if self.name.startswith("v16") else "18"

    @property
    def call(self) -> str:
        """The name without the version."""
        return re.sub("^v16[^_]*_", "", self.name)

    @property
    def file(self) -> str:
        """The part of the name that exchanges with the same operations share."""
        return self.call.partition(".")[0]

    @property
    def is_early(self) -> bool:
        """True if it was recorded while the first users were there."""
        return self.call < "4"


RECORDED = Path(__file__).with_name("recorded.json.gz")
EXCHANGES = [Exchange(*one) for one in json.loads(gzip.decompress(RECORDED.read_bytes()))]
# fmt: off
LINKS = {"dept": "departments", "program": "programs", "project": "projects", "execution": "executions", "product": "products",
         "story": "stories", "plan": "plans", "build": "builds", "task": "tasks", "case": "testcases", "testtask": "testtasks",
         "products": "products", "executions": "executions", "stories": "stories", "bugs": "bugs", "testcases": "testcases", "duplicateStory": "stories"}
PARENTS = {"programs": "programs", "projects": "programs", "executions": "projects", "stories": "stories", "plans": "plans",
           "departments": "departments"}
ARRAYS = {**{array: array for array in (*LINKS.values(), "releases", "efforts", "results", "users")}, "productplans": "plans", "cases": "testcases",
          "effort": "efforts", "estimate": "efforts", "buildInfos": "builds", "profile": "users", "requirements": "stories"}
NEEDED = {"executions": "project", "builds": "execution project product", "testtasks": "execution project product", "tasks": "execution",
          "results": "case", "efforts": "task", **dict.fromkeys(("stories", "plans", "releases", "bugs", "testcases"), "product")}
FIRST_USERS = {"admin": (1, "admin"), "pm1": (2, "Pam Manager"), "po1": (3, "Olga Owner"), "dev1": (4, "Dan Dev"), "dev2": (5, "Dora Dev"),
               "qa1": (6, "Quin Test"), "qd1": (7, "Qadir Lead"), "rd1": (8, "Rod Release")}
LATER_USERS = {"admin": (1, "admin"), "dev1": (2, "Dan Dev"), "dev2": (3, "Dora Dev"), "qa1": (4, "Quinn QA"), "pm1": (5, "Pat PM"), "po1": (6, "Olga PO")}
JOINED = re.compile("(product|project|execution|program|story|build|plan|parent)(Name|Title|Status|Type|PM)")
SET_NOW = re.compile(r'"(?:opened|created|lastEdited|assigned|closed|canceled)Date": "(2[-0-9]*)(.)([:0-9]*)')
# fmt: on


def ids_in(value) -> list[int]:
    """Return the ids in a field: an int, text, ids between commas, an array. 9999 is nobody's."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        value = [value]
    return [int(one) for one in value if re.fullmatch("[1-9][0-9]*", str(one)) and int(one) != 9999]


def records_in(value) -> list[dict[str, Any]]:
    """Return the records of an array, or of an object that holds them, or only their titles."""
    if isinstance(value, dict) and "id" not in value:
        titled = {id: one if isinstance(one, dict) else {"title": one} for id, one in value.items()}
        return [{**one, "id": id} for id, one in titled.items() if ids_in(id)]
    if not isinstance(value, list):
        value = [value]
    return [one for one in value if isinstance(one, dict) and "id" in one]


def is_unset(value) -> bool:
    is_no_day = str(value).startswith(("0000-00-00", "1970-01-01", "1969-12-31"))
    return is_no_day or value in (None, "", " ", ",", [], {})


def is_person(value) -> bool:
    return isinstance(value, dict) and value.keys() == {"id", "account", "avatar", "realname"}


def persons_in(value) -> list[dict[str, Any]]:
    """Return the user references in an answer."""
    if is_person(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    found = []
    for inner in value if isinstance(value, list) else ():
        found += persons_in(inner)
    return found


class State:
    """The records before a recorded request, by array and id."""

    def __init__(self, exchange):
        path, _, query = exchange.path.removeprefix("/api.php/v1/").partition("?")
        self.exchange, self.words = exchange, [*path.split("/"), "", ""]
        self.body = exchange.body if isinstance(exchange.body, dict) else {}
        self.records = {array: {} for array in pmservice.FIXTURE}
        self.home, self.named = ARRAYS.get(self.words[0], ""), ids_in(self.words[1])
        lists = self.words[2] in ARRAYS and (self.words[2], exchange.method) != ("estimate", "POST")
        self.array = ARRAYS[self.words[2]] if lists else self.home
        queries = urllib.parse.parse_qsl(query)
        self.owner = {field: int(value) for field, value in queries if field in LINKS}
        if self.named and (lists or self.words[2] == "batchCreate"):
            links = [link for link, array in LINKS.items() if array == self.home and link != array]
            self.owner |= dict.fromkeys(links, self.named[-1])
        if self.array == "stories" and "project" in self.owner:
            self.owner = {"execution": 3, **self.owner}
        for array, record in self.answered():
            self.add(array, record, **self.owner)
        self.add_people(FIRST_USERS if exchange.is_early else LATER_USERS)
        if self.home:
            for id in self.named:
                self.add(self.home, {"id": id})
            self.link(self.array, {**self.owner, **self.body})
            self.fill_pages()
            self.go_back()
        self.add_counted()

    def add_people(self, users):
        """Add the users that the answer shows, and the others of the recording."""
        for person in persons_in(self.exchange.answer):
            self.add("users", person)
        known = {user.get("account") for user in self.records["users"].values()}
        answer = self.exchange.answer if isinstance(self.exchange.answer, dict) else {}
        names = {str(answer.get("assignedTo")): answer.get("assignedToRealName")}
        for account, (id, realname) in users.items():
            if account not in known:
                realname = names.get(account) or realname
                self.add("users", dict(id=id, account=account, realname=realname))

    def answered(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the records of the answer, each with its array."""
        answer = self.exchange.answer
        if isinstance(answer, list) or (isinstance(answer, dict) and "id" in answer):
            yield from ((self.array, record) for record in records_in(answer) if self.array)
        elif isinstance(answer, dict):
            names = {*ARRAYS, "task", "message"} if self.array or "profile" in answer else {}
            for name in [name for name in answer if name in names]:
                for record in records_in(answer[name]):
                    more = {"type": "requirement"} if name == "requirements" else {}
                    yield ARRAYS.get(name, self.array), {**record, **more}
        if isinstance(answer, dict) and "options" in answer:
            for build in records_in(answer["options"]["build"]):
                yield "builds", {**build, "product": 1, "execution": 3, "project": 2}

    def add(self, array, given, **owner):
        """Add a record and those that it holds or names; what is known of one already stays."""
        given = {**given, **{link: id for link, id in owner.items() if not given.get(link)}}
        given["id"] = ids_in(str(given["id"]).removeprefix("case_"))[0]
        if array == "executions" and given.get("project") == given["id"]:
            del given["project"]
        if array == "stories" and given.get("stage") == "projected" and not given.get("executions"):
            given["execution"] = 3
        if array == "stories" and given.get("stage") == "released":
            release = {"product": given["product"], "stories": str(given["id"])}
            self.add("releases", {"id": given["id"], **release})
        if array == "plans" and given.get("parent") == -1 and "children" not in given:
            child = {"id": 1000 + given["id"], "parent": given["id"], "stories": [], "bugs": []}
            self.add("plans", {**given, **child})
        for child in ids_in(given.get("childStories")) if array == "stories" else []:
            self.add("stories", {"id": child, "product": given["product"], "parent": given["id"]})
        record = self.records[array].setdefault(given["id"], {})
        record.update({field: value for field, value in given.items() if field not in record})
        above = {link: given["id"] for link in LINKS if LINKS[link] == array and link != array}
        if array != "stories":
            links = ("product", "project", "execution")
            above |= {link: given[link] for link in links if ids_in(given.get(link))}
        for name, inner in given.items() if array != "products" else ():
            for one in records_in(inner) if name in ARRAYS else ():
                self.add(ARRAYS[name], {**above, **one})
            for one in records_in(inner) if name == "children" else ():
                self.add(array, {"parent": given["id"], "product": given.get("product"), **one})
        self.link(array, given)

    def link(self, array, given):
        """Add the records that the fields of another name, with what these say of them."""
        said = {link: {} for link in (*LINKS, "parent")}
        for field, value in given.items():
            if match := JOINED.fullmatch(field):
                part = {"Title": "name", "PM": "PM"}.get(match[2], match[2].lower())
                said[match[1]][part] = value.split("/")[-1] if isinstance(value, str) else value
        is_newer = given.get("needconfirm") or given.get("needConfirm")
        is_newer = is_newer or "storyChanged" in str(given.get("status"))
        version = (given.get("storyVersion") or 1) + bool(is_newer)
        said["story"]["version"] = given.get("latestStoryVersion") or version
        if array in ("stories", "plans"):
            said["parent"]["product"] = given.get("product")
        project = ids_in(given.get("project")) if array != "stories" else []
        if project:
            said["execution"]["project"] = said["build"]["project"] = project[0]
        for link, target in {**LINKS, "parent": PARENTS.get(array, "")}.items():
            counted = link == target and isinstance(given.get(link), int)
            if target and not counted and (array, link) != ("stories", "project"):
                for id in ids_in(given.get(link)):
                    self.add(target, {**said[link], "id": id})
        home = project or ([given["id"]] if array == "projects" and "id" in given else [])
        for product in ids_in(given.get("product")) if home else []:
            products = self.records["projects"][home[0]].setdefault("products", [])
            products += {product}.difference(products)

    def fill_pages(self):
        """Add records for those that a list counts but does not show: newer and older ones."""
        answer, records = self.exchange.answer, self.records[self.array]
        shown = []
        for array, one in self.answered():
            if array == self.array and one.get("type") != "requirement":
                shown.append(ids_in(one["id"])[0])
        if not (isinstance(answer, dict) and answer.get("total") and shown):
            return
        first, newest = records[shown[0]], max(records)
        common = {"product", "project", "execution", "executions"} & first.keys()
        alike = {link: first[link] for link in common}
        inside = [id for id, one in records.items() if self.is_inside(one)]
        missing = answer["total"] - len(inside)
        newer = (answer.get("page", 1) - 1) * answer.get("limit", 20)
        if self.array == "products":
            newer = missing - newer
        newer -= sum(id > max(shown) for id in inside)
        free = [*range(min(shown) - 1, 0, -1), *range(newest + 100, newest + 200)]
        for id in range(newest + 1, newest + 1 + min(newer, missing)):
            self.add(self.array, {**alike, "id": id, "begin": "2040-01-01", "end": "2040-01-01"})
        for id in [id for id in free if id not in records][: missing - newer]:
            self.add(self.array, {**alike, "id": id, "end": "2026-12-31"})

    def is_inside(self, record) -> bool:
        """Return whether the list of the answer counts a record."""
        if record.get("type") == "requirement":
            return False
        return all(ids_in(record.get(link)) == [own] for link, own in self.owner.items())

    def go_back(self):
        """Undo the request: what it made and sent is not there, and what BEFORE says was so."""
        exchange, last = self.exchange, self.exchange.path.partition("?")[0].rpartition("/")[2]
        if exchange.method == "POST" and last in {*ARRAYS, "batchCreate"} - {"estimate"}:
            made = [int(record["id"]) for array, record in self.answered() if array == self.array]
            for id in made:
                del self.records[self.array][id]
            people = self.body.get("assignedTo")
            several = len(people) if isinstance(people, list) else 1
            if made and made[0] > several:
                self.add(self.array, {**self.owner, "id": made[0] - several})
        elif exchange.method in ("PUT", "POST") and self.named and exchange.status < 300:
            for field in [*self.body, "lastEditedBy", "lastEditedDate"]:
                self.records[self.home][self.named[0]].pop(field, None)
        if "duplicate" in exchange.name and exchange.status == 400:
            self.add(self.array, {**self.owner, **self.body, "id": 90, "product": 1})
        for calls, array, id, facts in BEFORE:
            if fnmatch.fnmatch(exchange.call, calls) or fnmatch.fnmatch(exchange.name, calls):
                self.add(array, {"id": id or self.named[0]})
                self.records[array][id or self.named[0]].update(facts)

    def add_counted(self):
        """Add the bugs, stories, plans and releases that products and plans count."""
        for plan in [*self.records["plans"].values()]:
            for array in ("stories", "bugs"):
                count = plan.get(array)
                for place in range(count if isinstance(count, int) else 0):
                    more = dict(plan=plan["id"], product=plan["product"])
                    more["estimate"] = plan["hour"] / count
                    self.add(array, {**more, "id": 100 * plan["id"] + place})
        for product in [*self.records["products"].values()]:
            counts = {field: value for field, value in product.items() if isinstance(value, int)}
            number = Counter(counts)
            made = {
                "bugs": counted_bugs(number),
                "stories": counted_stories(product),
                "plans": [{} for _ in range(number["plans"])],
                "releases": [{} for _ in range(number["releases"])],
            }
            for array, records in made.items():
                for place, record in enumerate(records):
                    id = 1000 * product["id"] + place
                    self.add(array, {"product": product["id"], **record, "id": id})

    def fixture(self, password) -> dict[str, list[dict[str, Any]]]:
        """Return the records as a fixture, as far as it can say them, all users with a password."""
        for user in self.records["users"].values():
            user["password"] = password
        for array in reversed([*self.records]):
            for record in [*self.records[array].values()]:
                for link in NEEDED.get(array, "").split():
                    if not ids_in(record.get(link)):
                        usual = {"project": 2, "execution": 3}.get(link, 1)
                        record[link] = next(iter(self.records[LINKS[link]]), usual)
                        self.add(LINKS[link], {"id": record[link]})
        return {
            array: [written(resource, id, record) for id, record in self.records[array].items()]
            for array, resource in pmservice.FIXTURE.items()
        }


def counted_bugs(number) -> list[dict[str, Any]]:
    """Return the bugs that a product counts: active ones first, then closed, then resolved ones."""
    active, bugs = number["unResolved"], []
    for place in range(number["bugs"] or number["totalBugs"]):
        bug = dict(status="active", resolution="", assignedTo="admin", openedDate="2026-10-01")
        if active <= place:
            is_closed = place < active + number["closedBugs"]
            bug["status"] = "closed" if is_closed else "resolved"
        if active <= place < active + number["fixedBugs"]:
            bug["resolution"] = "fixed"
        if place < number["assignToNull"]:
            bug["assignedTo"] = None
        if place < number["thisWeekBugs"]:
            bug["openedDate"] = None
        bugs.append(bug)
    return bugs


def counted_stories(product) -> list[dict[str, Any]]:
    """Return the stories and requirements that a product counts by their states."""
    stories = []
    for field, type in (("stories", "story"), ("requirements", "requirement")):
        counts = product.get(field)
        for state, count in counts.items() if isinstance(counts, dict) else ():
            if isinstance(count, int) and state != "reviewing":
                status = state.replace("changing", "changed")
                stories += [dict(type=type, status=status) for _ in range(count)]
    return stories


def written(resource, id, shown) -> dict[str, Any]:
    """Return a record as a fixture writes it, without the values that it cannot have."""
    name = shown.get("name") or shown.get("title") or f"{resource.name} {id}"
    usual = {"account": f"user{id}", "begin": "2026-01-01", "end": "2027-12-31", "acl": "open"}
    record = {**usual, **shown, "name": name, "title": name, "id": id}
    if resource.name == "testcase" and not record.get("steps"):
        record["steps"] = [{"desc": "go"} for _ in range(record.get("stepNumber", 0))]
    if resource.name == "story":
        record |= parts_of_a_story(record)
    fixture = {}
    for field, kind in resource.fixture.fields.items():
        value = record.get(field)
        is_link = field in ("parent", *LINKS) and resource.name != "release"
        if isinstance(value, list) and field in LINKS:
            value = ids_in([one["id"] if isinstance(one, dict) else one for one in value])
        elif is_link or field in ("project", "build"):
            value = next(iter(ids_in(value)), None)
        if is_person(value) or (isinstance(value, list) and value and is_person(value[0])):
            value = meaning(value)
        with contextlib.suppress(ValueError, pmservice.Invalid):
            if not is_unset(value) and (field, value) != ("assignedTo", "closed"):
                kind.read(value)
                fixture[field] = value
    return fixture


def parts_of_a_story(story) -> dict[str, Any]:
    """Return a story's versions, executions, plans and reviewers, as a fixture writes them."""
    texts = {"title": story["title"], "spec": story.get("spec"), "verify": story.get("verify")}
    numbers = range(1, (story.get("version") or 1) + 1)
    waiting = story.get("notReview", ())
    reviewers = []
    for account in story.get("reviewer", ()):
        reviewers.append({"account": account, "result": "" if account in waiting else "pass"})
    return {
        "versions": [{**texts, "version": number} for number in numbers],
        "executions": [*(story.get("executions") or []), story.get("execution")],
        "plans": ids_in(story.get("plan")),
        "reviewers": reviewers,
    }


# fmt: off
WAITING = dict(status="wait", consumed=0, left=10, realStarted=None, assignedTo="dev1", assignedDate=None)
GOING = dict(status="doing", consumed=2, left=8, finishedBy=None, finishedDate=None)
NOT_OVER = dict(closedBy=None, closedDate=None, canceledBy=None, canceledDate=None)
GOING_4 = dict(GOING, consumed=4, left=6, realStarted="2026-11-23 09:00:00", assignedTo="dev1", **NOT_OVER)
OPEN = dict(status="active", closedBy=None, closedDate=None, closedReason=None, duplicateStory=None)
SHUT = dict(status="closed", closedBy="admin", closedDate="2026-11-20 10:00:00", closedReason="done", activatedDate=None)
UNRESOLVED = dict(status="active", confirmed=0, resolution=None, resolvedBy=None, resolvedDate=None, resolvedBuild=None, assignedTo=None)
EFFORT = dict(task=3, date="2026-11-16", left=8, consumed=2, account="admin", work="read the papers")
GONE_STEPS = [dict(id=2, desc="go", expect="gone", version=2), dict(id=3, desc="pay", expect="paid", version=2)]
BEFORE = [
    # exchanges                           array          id  what a record was before (id 0: the one that the path names)
    ("11_*",                               "tasks",       0,  dict(version=1)),
    ("12_*",                               "tasks",       0,  WAITING),
    ("13_*",                               "tasks",       0,  dict(GOING, realStarted="2026-02-03 09:00:00")),
    ("14_*.from-done",                     "tasks",       0,  dict(status="done", consumed=3, left=0)),
    ("14_*.from-pause",                    "tasks",       0,  dict(status="pause", consumed=2, left=8)),
    ("15_activate_task.from-closed",       "tasks",       0,  dict(SHUT, consumed=5, left=0, finishedBy="admin", finishedDate="2026-02-05 18:00:00")),
    ("15_close_task.from-*",               "tasks",       0,  dict(OPEN, status="wait", assignedTo="dev1", assignedDate="2026-11-20 15:00:00")),
    ("15_close_task.from-done",            "tasks",       0,  dict(status="done")),
    ("15_pause_task.from-doing",           "tasks",       0,  dict(status="doing")),
    ("15_pause_task.from-wait",            "tasks",       0,  dict(status="wait")),
    ("20_create_execution.*",              "projects",    26, dict(begin="2026-01-10", end="2026-06-30")),
    ("20_create_execution.waterfall",      "projects",    27, dict(model="waterfall")),
    ("21_close_bug",                       "bugs",        0,  dict(OPEN, status="resolved")),
    ("21_confirm_bug",                     "bugs",        0,  dict(confirmed=0)),
    ("21_resolve_bug",                     "bugs",        0,  UNRESOLVED),
    ("40_stories.change.*",                "stories",     0,  dict(version=1, status="active")),
    ("40_stories.change.with-reviewer",    "stories",     0,  dict(assignedTo=None)),
    ("40_stories.close.*",                 "stories",     0,  dict(OPEN, assignedTo="dev1")),
    ("40_stories*.active*",                "stories",     0,  SHUT),
    ("40_stories.review.pass-by-last",     "stories",     0,  dict(status="draft", reviewer=["qa1", "pm1"], notReview=["pm1"], reviewedDate=None)),
    ("40_*.review-reject-from-active",     "stories",     0,  OPEN),
    ("40_*.review-clarify-*",              "stories",     0,  dict(reviewedBy=None)),
    ("40_stories.recall.delete",           "stories",     0,  dict(status="changed", version=2)),
    ("41_plans.linkstories.ok",            "stories",     1,  dict(plan=None)),
    ("41_plans.linkstories.ok",            "stories",     2,  dict(plan=None)),
    ("41_plans.linkbugs.ok",               "bugs",        1,  dict(plan=None)),
    ("41_plans.unlinkstories.ok",          "stories",     2,  dict(plan=1, product=1)),
    ("41_plans.unlinkbugs.ok",             "bugs",        1,  dict(plan=1, product=1)),
    ("45_departments.delete.with-users",   "users",       2,  dict(dept=2)),
    ("45_*.delete.with-children",          "departments", 2,  dict(parent=1)),
    ("47_puts.testcase-several-*",         "testcases",   0,  dict(version=1, steps=[dict(id=1, desc="go")])),
    ("v16*_47_puts.testcase-several-*",    "testcases",   0,  dict(steps=[dict(id=5, desc="go")])),
    ("47_puts.execution-*",                "executions",  4,  dict(project=2, begin="2027-01-05", end="2027-02-05")),
    ("48_deletes.execution-tasks-after",   "executions",  0,  dict(deleted=True)),
    ("60_testresults.post.ok",             "testcases",   0,  dict(steps=[dict(id=6, desc="go"), dict(id=7, desc="pay")])),
    ("47_puts.testcase-without-steps",     "testcases",   0,  dict(version=2, steps=GONE_STEPS)),
    ("47_puts.project-shrink-*",           "executions",  3,  dict(project=2, begin="2026-11-02", end="2026-12-31")),
    ("47_puts.project-shrink-*",           "executions",  4,  dict(project=2, begin="2027-01-05", end="2027-01-31")),
    ("47_puts.execution-*",                "projects",    2,  dict(begin="2026-02-01", end="2027-06-30")),
    ("51_bug_put.resolution",              "bugs",        0,  dict(UNRESOLVED, assignedTo="dev1")),
    ("51_bug_put.closedBy",                "bugs",        0,  dict(status="resolved", closedDate=None)),
    ("52_estimates.post.ok-one",           "tasks",       0,  WAITING),
    ("52_estimates.post.ok-two",           "tasks",       0,  dict(consumed=2, left=8)),
    ("52_estimates.post.ok-two",           "efforts",     1,  EFFORT),
    ("52_estimates.post.left-0",           "tasks",       0,  dict(GOING, consumed=7, left=3)),
    ("52_estimates.post.left-0",           "efforts",     3,  dict(EFFORT, date="2026-11-18", left=3)),
    ("52_estimates.post.from-closed",      "tasks",       0,  dict(SHUT, consumed=10, left=0)),
    ("52_estimates.post.from-done",        "tasks",       0,  dict(status="done", consumed=10, left=0)),
    ("53_task_put.*wait-*",                "tasks",       0,  WAITING),
    ("53_task_put.*doing-*",               "tasks",       0,  GOING_4),
    ("54_*.task-start-of-*",               "tasks",       0,  dict(WAITING, left=8)),
]
# fmt: on


class Difference(NamedTuple):
    """A value that was compared: where, in which way it differs ("" for none), and both values."""

    field: str
    way: str
    recorded: Any
    ours: Any


def meaning(value):
    """Return what a value says: an account, a UTC moment, a number, None for unset."""
    if is_unset(value):
        return None
    if is_person(value):
        return value["account"]
    if isinstance(value, list):
        return [meaning(one) for one in value]
    value = value.strip(",") if isinstance(value, str) else value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", value):
        return f"{datetime.fromisoformat(value) - timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}"
    is_number = isinstance(value, (int, float)) or re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value))
    return float(value) if is_number else value


def split(value):
    """Return the parts of text between commas, and any other value as it is."""
    if isinstance(value, str) and "," in value:
        return [one for one in value.split(",") if one]
    return value


def way_of(recorded, ours) -> str:
    """Return in which way two values differ: in what they say, or only in how they are written."""
    is_blanked = isinstance(ours, str) and re.fullmatch("<[A-Z ]+>", str(recorded))
    if is_blanked or json.dumps(recorded) == json.dumps(ours):
        return ""
    said, says = split(meaning(recorded)), split(meaning(ours))
    if said != says and [said] != says and said != [says]:
        return "value"
    if said is None:
        return "unset"
    if isinstance(said, float):
        return "flag" if isinstance(recorded, bool) or isinstance(ours, bool) else "number"
    return "moment" if str(said).endswith("Z") else "person"


def differences(recorded, ours, field="") -> Iterator[Difference]:
    """Yield what is compared. In the name of a field, "*" stands for an id."""
    pair = (recorded, ours)
    if all(isinstance(one, dict) for one in pair) and not is_person(recorded):
        for key in {**recorded, **ours}:
            name = f"{field}.{'*' if key.isdigit() else key}".strip(".")
            if key in recorded and key in ours:
                yield from differences(recorded[key], ours[key], name)
            else:
                way = "lacks" if key in recorded else "adds"
                yield Difference(name, way, recorded.get(key), ours.get(key))
        return
    are_lists = all(isinstance(one, list) for one in pair)
    if are_lists and records_in(recorded) and not is_person(recorded[0]):
        yield from differences_of_records(recorded, records_in(ours), field)
    elif (
        are_lists and len(recorded) == len(ours) and any(isinstance(one, dict) for one in recorded)
    ):
        for was, now in zip(recorded, ours, strict=True):
            yield from differences(was, now, field)
    else:
        yield Difference(field, way_of(recorded, ours), recorded, ours)


def differences_of_records(recorded, ours, field) -> Iterator[Difference]:
    """Yield what is compared of two lists of records: those of one id, and their order."""
    found = {one["id"]: one for one in ours}
    for record in recorded:
        if record["id"] in found:
            yield from differences(record, found[record["id"]], field)
        else:
            yield Difference(field, "lacks", record, None)
    known = [record["id"] for record in recorded]
    order = [id for id in found if id in known]
    is_same = order == [id for id in known if id in found]
    yield Difference(field, "" if is_same else "order", known, order)


def refused(exchange, ours) -> Iterator[Difference]:
    """Yield what is compared of two refusals: the sentence, the fields that the first one blames."""
    error = exchange.answer["error"]
    yield Difference("error", "" if error == ours["error"] else "words", error, ours["error"])
    reasons = error.get("message", error) if isinstance(error, dict) else ()
    missing = re.findall(r"\.missing-(\w+)$", exchange.name)
    for field in [*reasons, *missing] if isinstance(reasons, (dict, tuple)) else missing:
        known = ours.get("fields", ())
        yield Difference(f"fields.{field}", "" if field in known else "lacks", field, known)


def moment_of(exchange) -> str:
    """Return the moment of an exchange: the latest that the server itself set in the answer."""
    shown = SET_NOW.findall(json.dumps(exchange.answer))
    moments = ["2026-11-20T07:48:14Z" if exchange.is_early else "2026-11-21T20:06:37Z"]
    if shown:
        moments = [
            f"{day}T{clock}Z" if letter == "T" else meaning(f"{day} {clock}")
            for day, letter, clock in shown
        ]
    return str(max(moments))


def caller_of(exchange) -> str:
    """Return the account that sent a request."""
    changed = isinstance(exchange.answer, dict) and exchange.method != "GET"
    return str((changed and meaning(exchange.answer.get("lastEditedBy"))) or "admin")


def compared(exchange, status, answer) -> list[Difference]:
    """Return what is compared of an answer: all of it, or the status alone if that differs."""
    pair, recorded = f"{exchange.status}-{status}", exchange.answer
    first = Difference(pair, "" if exchange.status == status else "status", exchange.status, status)
    if first.way and not 200 <= exchange.status <= status <= 201:
        return [first]
    if status >= 400:
        return [first, *refused(exchange, answer)]
    if isinstance(recorded, dict) and isinstance(recorded.get("message"), dict):
        missing = Difference("message", "lacks", "a record", None)
        return [first, missing, *differences(recorded["message"], answer)]
    return [first, *differences(recorded, answer)]
