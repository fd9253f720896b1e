"""The session with the client of openapi-python-client."""

from __future__ import annotations

import sys
from datetime import date
from typing import TypeVar

from client import AuthenticatedClient, Client, models
from client.api.bugs import create_bug_of_product, get_bug, list_bugs, list_bugs_of_product
from client.api.executions import create_execution_of_project
from client.api.products import create_product, list_products
from client.api.programs import create_program
from client.api.projects import create_project, list_projects
from client.api.releases import list_releases_of_project
from client.api.stories import create_story_of_product, get_story
from client.api.tasks import (
    create_task_of_execution,
    finish_task,
    list_tasks_assigned_to_caller,
    list_tasks_of_execution,
    restart_task,
    start_task,
)
from client.api.testcases import create_test_case_of_product, get_test_case
from client.api.tokens import log_in
from client.api.users import list_users

Model = TypeVar("Model")
url, password, name = sys.argv[1:]


def done(operation: str, answer: Model | models.Error | None) -> Model:
    """Return the answer of a call that must succeed."""
    assert answer is not None, operation
    assert not isinstance(answer, models.Error), (operation, answer)
    print(operation)
    return answer


login = models.Login(account="admin", password=password)
token = done("logIn", log_in.sync(client=Client(url), body=login))
client = AuthenticatedClient(url, token.token, prefix="", auth_header_name="Token")

begin, end = date(2026, 3, 2), date(2026, 3, 27)
program = done(
    "createProgram",
    create_program.sync(
        client=client, body=models.ProgramToCreate(name=name, begin=begin, end=end)
    ),
)
assert program.begin == str(begin)

product = done(
    "createProduct",
    create_product.sync(
        client=client,
        body=models.ProductToCreate(name=name, program=program.id, po="admin", whitelist=["marta"]),
    ),
)
assert product.po is not None
assert product.po.account == "admin"
assert [person.account for person in product.whitelist] == ["marta"]

project = done(
    "createProject",
    create_project.sync(
        client=client,
        body=models.ProjectToCreate(
            name=name, begin=begin, end=end, products=[product.id], parent=program.id
        ),
    ),
)
assert project.status is models.ProjectState.WAIT

execution = done(
    "createExecutionOfProject",
    create_execution_of_project.sync(
        project.id,
        client=client,
        body=models.ExecutionToCreate(name=name, begin=begin, end=end, products=[product.id]),
    ),
)
assert execution.project == project.id

story = done(
    "createStoryOfProduct",
    create_story_of_product.sync(
        product.id,
        client=client,
        body=models.StoryToCreate(title=name, pri=3, category="feature", spec="Any angle."),
    ),
)
assert story.product == product.id
assert story.closed_date is None

bug = done(
    "createBugOfProduct",
    create_bug_of_product.sync(
        product.id,
        client=client,
        body=models.BugToCreate(
            title=name,
            severity=3,
            pri=2,
            type_=models.BugType.CODEERROR,
            opened_build="trunk",
            story=story.id,
            assigned_to="diego",
        ),
    ),
)
assert bug.type_ is models.BugType.CODEERROR
assert bug.assigned_to is not None
assert bug.assigned_to.account == "diego"
assert bug.resolved_by is None

bugs = done("listBugsOfProduct", list_bugs_of_product.sync(product.id, client=client))
found = [(listed.id, listed.status.code) for listed in bugs.bugs]
assert found == [(bug.id, models.BugState.ACTIVE)]
assert bugs.total == 1

case = done(
    "createTestCaseOfProduct",
    create_test_case_of_product.sync(
        product.id,
        client=client,
        body=models.TestCaseToCreate(
            title=name,
            type_=models.TestCaseType.FEATURE,
            pri=3,
            steps=[models.Step(desc="Scan it.", expect="It beeps.")],
        ),
    ),
)
read = done("getTestCase", get_test_case.sync(case.id, client=client))
assert [step.expect for step in read.steps] == ["It beeps."]
assert read.opened_by is not None
assert read.last_edited_date is None

task = done(
    "createTaskOfExecution",
    create_task_of_execution.sync(
        execution.id,
        client=client,
        body=models.TaskToCreate(
            name=name,
            type_=models.TaskType.DEVEL,
            assigned_to=["marta"],
            estimate=8,
            est_started=begin,
            deadline=end,
        ),
    ),
)
assert task.status is models.TaskState.WAIT
assert task.deadline == end
assert task.finished_date is None

started = done(
    "startTask",
    start_task.sync(
        task.id,
        client=client,
        body=models.StartTask(real_started="2026-03-03 09:00:00", consumed=1.5, left=6.5),
    ),
)
assert started.status is models.TaskState.DOING
assert started.consumed == 1.5

finished = done(
    "finishTask",
    finish_task.sync(
        task.id,
        client=client,
        body=models.FinishTask(finished_date="2026-03-04 17:30:00", current_consumed=4),
    ),
)
assert finished.status is models.TaskState.DONE
assert finished.left == 0

restarted = done(
    "restartTask",
    restart_task.sync(task.id, client=client, body=models.RestartTask(consumed=6, left=2)),
)
assert restarted.status is models.TaskState.DOING

releases = done("listReleasesOfProject", list_releases_of_project.sync(project.id, client=client))
assert releases.releases == []

projects = done("listProjects", list_projects.sync(client=client, limit=100))
assert project.id in [listed.id for listed in projects.projects]
demo = projects.projects[0].id
done("listReleasesOfProject", list_releases_of_project.sync(demo, client=client))
products = done("listProducts", list_products.sync(client=client, limit=100))
assert product.id in [listed.id for listed in products.products]
every = done("listBugs", list_bugs.sync(client=client, product=1, limit=100))
assert {listed.resolved_by is None for listed in every.bugs} == {True, False}
done("listTasksAssignedToCaller", list_tasks_assigned_to_caller.sync(client=client))
tasks = done("listTasksOfExecution", list_tasks_of_execution.sync(execution.id, client=client))
assert [listed.id for listed in tasks.tasks] == [task.id]
told = done("getStory", get_story.sync(story.id, client=client))
assert told.title == name
done("getStory", get_story.sync(1, client=client))
done("getBug", get_bug.sync(every.bugs[0].id, client=client))
users = done("listUsers", list_users.sync(client=client))
assert {"admin", "marta"} <= {user.account for user in users.users}
