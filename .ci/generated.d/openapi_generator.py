"""The session with the Python client of openapi-generator."""

from __future__ import annotations

import sys
from datetime import date
from typing import TypeVar

import client

Model = TypeVar("Model")
url, password, name = sys.argv[1:]


def done(operation: str, answer: Model) -> Model:
    """Return the answer of a call, which raises an exception unless it succeeds."""
    print(operation)
    return answer


settings = client.Configuration(host=url)
connection = client.ApiClient(settings)
bug_calls = client.BugsApi(connection)
product_calls = client.ProductsApi(connection)
project_calls = client.ProjectsApi(connection)
release_calls = client.ReleasesApi(connection)
story_calls = client.StoriesApi(connection)
task_calls = client.TasksApi(connection)
case_calls = client.TestcasesApi(connection)

login = client.Login(account="admin", password=password)
token = done("logIn", client.TokensApi(connection).log_in(login))
settings.api_key["Token"] = token.token

begin, end = date(2026, 3, 2), date(2026, 3, 27)
program = done(
    "createProgram",
    client.ProgramsApi(connection).create_program(
        client.ProgramToCreate(name=name, begin=begin, end=end)
    ),
)
assert program.begin == str(begin)

product = done(
    "createProduct",
    product_calls.create_product(
        client.ProductToCreate(name=name, program=program.id, PO="admin", whitelist=["marta"])
    ),
)
assert product.po is not None
assert product.po.account == "admin"
assert [person.account for person in product.whitelist] == ["marta"]

project = done(
    "createProject",
    project_calls.create_project(
        client.ProjectToCreate(
            name=name, begin=begin, end=end, products=[product.id], parent=program.id
        )
    ),
)
assert project.status is client.ProjectState.WAIT

execution = done(
    "createExecutionOfProject",
    client.ExecutionsApi(connection).create_execution_of_project(
        project.id, client.ExecutionToCreate(name=name, begin=begin, end=end, products=[product.id])
    ),
)
assert execution.project == project.id

story = done(
    "createStoryOfProduct",
    story_calls.create_story_of_product(
        product.id, client.StoryToCreate(title=name, pri=3, category="feature", spec="Any angle.")
    ),
)
assert story.product == product.id
assert story.closed_date is None

bug = done(
    "createBugOfProduct",
    bug_calls.create_bug_of_product(
        product.id,
        client.BugToCreate(
            title=name,
            severity=3,
            pri=2,
            type=client.BugType.CODEERROR,
            openedBuild="trunk",
            story=story.id,
            assignedTo="diego",
        ),
    ),
)
assert bug.type is client.BugType.CODEERROR
assert bug.assigned_to is not None
assert bug.assigned_to.account == "diego"
assert bug.resolved_by is None

bugs = done("listBugsOfProduct", bug_calls.list_bugs_of_product(product.id))
found = [(listed.id, listed.status.code) for listed in bugs.bugs]
assert found == [(bug.id, client.BugState.ACTIVE)]
assert bugs.total == 1

case = done(
    "createTestCaseOfProduct",
    case_calls.create_test_case_of_product(
        product.id,
        client.TestCaseToCreate(
            title=name,
            type=client.TestCaseType.FEATURE,
            pri=3,
            steps=[client.Step(desc="Scan it.", expect="It beeps.")],
        ),
    ),
)
read = done("getTestCase", case_calls.get_test_case(case.id))
assert [step.expect for step in read.steps] == ["It beeps."]
assert read.opened_by is not None
assert read.last_edited_date is None

task = done(
    "createTaskOfExecution",
    task_calls.create_task_of_execution(
        execution.id,
        client.TaskToCreate(
            name=name,
            type=client.TaskType.DEVEL,
            assignedTo=["marta"],
            estimate=8,
            estStarted=begin,
            deadline=end,
        ),
    ),
)
assert task.status is client.TaskState.WAIT
assert task.deadline == end
assert task.finished_date is None

start = client.StartTask(realStarted="2026-03-03 09:00:00", consumed=1.5, left=6.5)
started = done("startTask", task_calls.start_task(task.id, start))
assert started.status is client.TaskState.DOING
assert started.consumed == 1.5

finish = client.FinishTask(finishedDate="2026-03-04 17:30:00", currentConsumed=4)
finished = done("finishTask", task_calls.finish_task(task.id, finish))
assert finished.status is client.TaskState.DONE
assert finished.left == 0

restart = client.RestartTask(consumed=6, left=2)
restarted = done("restartTask", task_calls.restart_task(task.id, restart))
assert restarted.status is client.TaskState.DOING

releases = done("listReleasesOfProject", release_calls.list_releases_of_project(project.id))
assert releases.releases == []

projects = done("listProjects", project_calls.list_projects(limit=100))
assert project.id in [listed.id for listed in projects.projects]
demo = projects.projects[0].id
done("listReleasesOfProject", release_calls.list_releases_of_project(demo))
products = done("listProducts", product_calls.list_products(limit=100))
assert product.id in [listed.id for listed in products.products]
every = done("listBugs", bug_calls.list_bugs(product=1, limit=100))
assert {listed.resolved_by is None for listed in every.bugs} == {True, False}
done("listTasksAssignedToCaller", task_calls.list_tasks_assigned_to_caller())
tasks = done("listTasksOfExecution", task_calls.list_tasks_of_execution(execution.id))
assert [listed.id for listed in tasks.tasks] == [task.id]
told = done("getStory", story_calls.get_story(story.id))
assert told.title == name
done("getStory", story_calls.get_story(1))
done("getBug", bug_calls.get_bug(every.bugs[0].id))
users = done("listUsers", client.UsersApi(connection).list_users())
assert {"admin", "marta"} <= {user.account for user in users.users}
