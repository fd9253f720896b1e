-- The database of pmservice. Columns have the names that the interface gives the fields.
--
-- How a column becomes a field: a field that requests set is a column of a table here, and a row of the resource's
-- fields in pmservice.py, which gives its kind and its place in answers; a field that follows from others is a column
-- of the resource's view, at the end. The views take all columns of their tables.
--
-- A link that is not set is NULL; a person is an account; a moment is UTC text, YYYY-MM-DDThh:mm:ssZ; a day is
-- YYYY-MM-DD; NULL is "unset". A column of ids without REFERENCES, such as bug.story, may hold any number, and 0 for
-- none: clients name records there that need not exist. Defaults that never depend on the request stand here and
-- nowhere else. A record with `deleted` is never removed: it leaves lists and takes no more changes; by its id it is
-- still shown. No count of other records is stored but those of a product, see `tally`: queries count.
--
-- A new database runs all versions of this file, an older one those that it lacks, in one transaction. What has been
-- released never changes: a later version is a further part before the views, which ends at its own `user_version`.

-- === Version 10 ==================================================================================
-- The first part: a file with an earlier number is refused.

PRAGMA application_id = 1886221174;  -- "pmsv": no other program's file is taken for ours

-- --- Users, their tokens and departments ---------------------------------------------------------

CREATE TABLE user (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL UNIQUE CHECK (length(account) BETWEEN 1 AND 30),
    realname TEXT NOT NULL, avatar TEXT NOT NULL DEFAULT '', role TEXT NOT NULL DEFAULT '', email TEXT NOT NULL DEFAULT '',
    admin INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
    password TEXT,  -- a salted scrypt hash; NULL: nobody can log in as this user
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    dept INTEGER REFERENCES department,
    type TEXT NOT NULL DEFAULT 'inside', gender TEXT NOT NULL DEFAULT 'f',
    birthday TEXT, "join" TEXT,
    commiter TEXT NOT NULL DEFAULT '',  -- spelled as in the interface
    skype TEXT NOT NULL DEFAULT '', qq TEXT NOT NULL DEFAULT '', weixin TEXT NOT NULL DEFAULT '',
    mobile TEXT NOT NULL DEFAULT '', phone TEXT NOT NULL DEFAULT '',
    dingding TEXT NOT NULL DEFAULT '', slack TEXT NOT NULL DEFAULT '', whatsapp TEXT NOT NULL DEFAULT '',
    address TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX user_of_department ON user (dept) WHERE dept IS NOT NULL;

CREATE TABLE token (
    hash TEXT PRIMARY KEY,  -- SHA-256 of the token, which itself is kept nowhere
    account TEXT NOT NULL REFERENCES user (account),
    used TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE department (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    parent INTEGER REFERENCES department,
    "order" INTEGER,  -- 10 after the last of the same parent unless given
    manager TEXT REFERENCES user (account)
) STRICT;
CREATE INDEX department_of_parent ON department (parent);

-- Departments that do not say their order follow each other in steps of 10, as on the real server.
CREATE TRIGGER department_ordered AFTER INSERT ON department WHEN NEW."order" IS NULL BEGIN
    UPDATE department SET "order" = 10 + (
        SELECT coalesce(max("order"), 0) FROM department WHERE parent IS NEW.parent AND id <> NEW.id)
    WHERE id = NEW.id;
END;

-- --- Programs, projects and executions: one sequence of ids, as `path` needs ---------------------

CREATE TABLE project (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER REFERENCES project,  -- set for an execution only: the one that it belongs to
    parent INTEGER REFERENCES project,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255), code TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '', type TEXT NOT NULL,
    budget INTEGER NOT NULL DEFAULT 0, budgetUnit TEXT NOT NULL DEFAULT 'CNY',
    begin TEXT NOT NULL, end TEXT NOT NULL,
    realBegan TEXT, realEnd TEXT, desc TEXT NOT NULL DEFAULT '',
    openedBy TEXT REFERENCES user (account), openedDate TEXT,
    PM TEXT REFERENCES user (account),
    acl TEXT NOT NULL, whitelist TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    status TEXT NOT NULL DEFAULT 'wait',
    lifetime TEXT NOT NULL DEFAULT '', attribute TEXT NOT NULL DEFAULT '',
    percent INTEGER NOT NULL DEFAULT 0, days INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0, openedVersion TEXT NOT NULL DEFAULT '',
    lastEditedBy TEXT REFERENCES user (account), lastEditedDate TEXT,
    closedBy TEXT REFERENCES user (account), closedDate TEXT,
    canceledBy TEXT REFERENCES user (account), canceledDate TEXT,
    PO TEXT REFERENCES user (account), QD TEXT REFERENCES user (account), RD TEXT REFERENCES user (account),
    team TEXT NOT NULL DEFAULT '',
    "order" INTEGER,  -- id × 5 unless given
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;
CREATE INDEX project_of_type ON project (type, deleted);
CREATE INDEX project_of_parent ON project (parent, deleted) WHERE parent IS NOT NULL;
CREATE INDEX execution_of_project ON project (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX execution_running ON project (type, deleted, end) WHERE status = 'doing';

-- --- Products ------------------------------------------------------------------------------------

CREATE TABLE product (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    program INTEGER REFERENCES project,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255), code TEXT NOT NULL DEFAULT '',
    line INTEGER NOT NULL DEFAULT 0, type TEXT NOT NULL DEFAULT 'normal',
    PO TEXT REFERENCES user (account), QD TEXT REFERENCES user (account), RD TEXT REFERENCES user (account),
    desc TEXT NOT NULL DEFAULT '',
    acl TEXT NOT NULL DEFAULT 'private',
    whitelist TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    createdBy TEXT REFERENCES user (account), createdDate TEXT,
    status TEXT NOT NULL DEFAULT 'normal', reviewer TEXT NOT NULL DEFAULT '',
    createdVersion TEXT NOT NULL DEFAULT '',
    "order" INTEGER,  -- id × 5 unless given
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;
CREATE INDEX product_listed ON product (deleted);
CREATE INDEX product_of_program ON product (program, deleted) WHERE program IS NOT NULL;

CREATE TABLE project_product (
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    PRIMARY KEY (project, product)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_of_product ON project_product (product);

-- --- Stories and requirements --------------------------------------------------------------------

CREATE TABLE story (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER REFERENCES story,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0, module INTEGER NOT NULL DEFAULT 0,
    source TEXT NOT NULL DEFAULT '', sourceNote TEXT NOT NULL DEFAULT '',
    fromBug INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255), keywords TEXT NOT NULL DEFAULT '',
    type TEXT NOT NULL DEFAULT 'story', category TEXT NOT NULL DEFAULT '',
    pri INTEGER NOT NULL DEFAULT 3,
    estimate REAL NOT NULL DEFAULT 0 CHECK (estimate >= 0),  -- of one that has children: the sum of theirs
    status TEXT NOT NULL DEFAULT 'active',
    color TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 1,
    mailto TEXT NOT NULL DEFAULT ',' CHECK (mailto LIKE ',%' AND mailto LIKE '%,'),
    openedBy TEXT REFERENCES user (account), openedDate TEXT,
    assignedTo TEXT REFERENCES user (account), assignedDate TEXT,
    lastEditedBy TEXT REFERENCES user (account), lastEditedDate TEXT,
    reviewedBy TEXT REFERENCES user (account), reviewedDate TEXT,
    closedBy TEXT REFERENCES user (account), closedDate TEXT,
    closedReason TEXT NOT NULL DEFAULT '',
    activatedDate TEXT,
    duplicateStory INTEGER REFERENCES story,
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    spec TEXT NOT NULL DEFAULT '', verify TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX story_of_product ON story (product, type, deleted);
CREATE INDEX story_in_status ON story (product, type, deleted, status);
CREATE INDEX story_unclosed ON story (product, type, deleted) WHERE status <> 'closed';
CREATE INDEX story_of_parent ON story (parent, deleted) WHERE parent IS NOT NULL;
CREATE INDEX story_opened_by ON story (product, type, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX story_assigned ON story (product, type, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX story_closed_by ON story (product, type, deleted, closedBy) WHERE closedBy IS NOT NULL;

-- The words of a story in its earlier versions; those of the present one stand in the story itself.
CREATE TABLE story_version (
    story INTEGER NOT NULL REFERENCES story,
    version INTEGER NOT NULL CHECK (version > 0),
    title TEXT NOT NULL,
    spec TEXT NOT NULL DEFAULT '', verify TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (story, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE story_reviewer (
    story INTEGER NOT NULL REFERENCES story,
    account TEXT NOT NULL REFERENCES user (account),
    result TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (story, account)
) STRICT;  -- the rowids are in the order of the votes, see Store.vote
CREATE INDEX story_asked ON story_reviewer (account, result);

-- The stories of an execution; each is linked to the execution's project, too.
CREATE TABLE project_story (
    project INTEGER NOT NULL REFERENCES project,
    story INTEGER NOT NULL REFERENCES story,
    PRIMARY KEY (project, story)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_of_story ON project_story (story);

-- The estimate of a story that has children is the sum of theirs, without the noise of floats. A child that moves
-- changes both parents. One level is enough, as a parent has no parent itself.
CREATE TRIGGER story_estimated AFTER UPDATE OF estimate, parent, deleted ON story BEGIN
    UPDATE story SET estimate = (
        SELECT round(sum(estimate), 9) FROM story AS child WHERE child.parent = story.id AND NOT child.deleted)
    WHERE id IN (OLD.parent, NEW.parent)
        AND EXISTS (SELECT 1 FROM story AS child WHERE child.parent = story.id AND NOT child.deleted);
END;

-- --- Plans ---------------------------------------------------------------------------------------

CREATE TABLE plan (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0,
    parent INTEGER REFERENCES plan,
    title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    status TEXT NOT NULL DEFAULT 'wait', desc TEXT NOT NULL DEFAULT '',
    begin TEXT NOT NULL, end TEXT NOT NULL,
    closedReason TEXT NOT NULL DEFAULT '',
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;
CREATE INDEX plan_of_product ON plan (product, deleted, begin);
CREATE INDEX plan_of_parent ON plan (parent, deleted) WHERE parent IS NOT NULL;

CREATE TABLE plan_story (
    plan INTEGER NOT NULL REFERENCES plan,
    story INTEGER NOT NULL REFERENCES story,
    PRIMARY KEY (plan, story)
) STRICT, WITHOUT ROWID;
CREATE INDEX plan_of_story ON plan_story (story);

-- --- Builds --------------------------------------------------------------------------------------

CREATE TABLE build (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0,
    execution INTEGER NOT NULL REFERENCES project,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    scmPath TEXT NOT NULL DEFAULT '', filePath TEXT NOT NULL DEFAULT '',
    date TEXT NOT NULL,
    builder TEXT REFERENCES user (account),
    desc TEXT NOT NULL DEFAULT '',
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;
CREATE INDEX build_of_project ON build (project, deleted, date);
CREATE INDEX build_of_execution ON build (execution, deleted, date);
CREATE INDEX build_named ON build (product, name) WHERE NOT deleted;

CREATE TABLE build_story (
    build INTEGER NOT NULL REFERENCES build,
    story INTEGER NOT NULL REFERENCES story,
    PRIMARY KEY (build, story)
) STRICT, WITHOUT ROWID;

CREATE TABLE build_bug (
    build INTEGER NOT NULL REFERENCES build,
    bug INTEGER NOT NULL REFERENCES bug,
    PRIMARY KEY (build, bug)
) STRICT, WITHOUT ROWID;

-- --- Releases ------------------------------------------------------------------------------------

CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0, build INTEGER NOT NULL DEFAULT 0,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    date TEXT NOT NULL, marker TEXT NOT NULL DEFAULT '0',
    desc TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'normal',
    stories TEXT NOT NULL DEFAULT '', bugs TEXT NOT NULL DEFAULT '', leftBugs TEXT NOT NULL DEFAULT '',
    mailto TEXT NOT NULL DEFAULT '', buildName TEXT NOT NULL DEFAULT '',
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;
CREATE INDEX release_of_project ON release (project, deleted);
CREATE INDEX release_of_product ON release (product, deleted);
CREATE INDEX release_dated ON release (date) WHERE NOT deleted;

-- The stories that releases name in their text, such as '3,7': a row for each, so that an index finds them. Text that
-- is no list of numbers names none. The triggers below keep the rows, by the view named_story.
CREATE TABLE release_story (
    story INTEGER NOT NULL,
    release INTEGER NOT NULL REFERENCES release,
    PRIMARY KEY (story, release)
) STRICT, WITHOUT ROWID;
CREATE INDEX story_of_release ON release_story (release);

-- typeof() leaves out numbers that are not whole or exceed 64 bits; named.type leaves out true and false, which are
-- 1 and 0.
CREATE VIEW named_story AS SELECT named.value AS story, listing.release
FROM (SELECT id AS release, '[' || trim(stories, ', ') || ']' AS list FROM release WHERE NOT deleted) AS listing,
    json_each(iif(json_valid(list), list, '[]')) AS named
WHERE typeof(named.value) = 'integer' AND named.type = 'integer';

-- A story is released when a release names it, and no longer when the release no longer does.
CREATE TRIGGER release_stories_named AFTER INSERT ON release WHEN NEW.stories <> '' BEGIN
    INSERT OR IGNORE INTO release_story SELECT story, release FROM named_story WHERE release = NEW.id;
END;

CREATE TRIGGER release_stories_renamed AFTER UPDATE OF stories, deleted ON release BEGIN
    DELETE FROM release_story WHERE release = NEW.id;
    INSERT OR IGNORE INTO release_story SELECT story, release FROM named_story WHERE release = NEW.id;
END;

-- --- Bugs ----------------------------------------------------------------------------------------

CREATE TABLE bug (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0, module INTEGER NOT NULL DEFAULT 0,
    project INTEGER REFERENCES project,
    execution INTEGER REFERENCES project,
    toTask INTEGER NOT NULL DEFAULT 0, toStory INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255), keywords TEXT NOT NULL DEFAULT '',
    severity INTEGER NOT NULL DEFAULT 3, pri INTEGER NOT NULL DEFAULT 3,
    type TEXT NOT NULL DEFAULT 'codeerror',
    os TEXT NOT NULL DEFAULT '', browser TEXT NOT NULL DEFAULT '', steps TEXT NOT NULL DEFAULT '',
    task INTEGER NOT NULL DEFAULT 0, plan INTEGER NOT NULL DEFAULT 0,
    story INTEGER NOT NULL DEFAULT 0, storyVersion INTEGER NOT NULL DEFAULT 1,
    openedBy TEXT REFERENCES user (account), openedDate TEXT,
    deadline TEXT,
    assignedTo TEXT REFERENCES user (account), assignedDate TEXT,
    resolvedBy TEXT REFERENCES user (account), resolvedDate TEXT,
    resolvedBuild TEXT NOT NULL DEFAULT '',
    closedBy TEXT REFERENCES user (account), closedDate TEXT,
    hardware TEXT NOT NULL DEFAULT '', found TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'active',
    color TEXT NOT NULL DEFAULT '', confirmed INTEGER NOT NULL DEFAULT 0,
    activatedCount INTEGER NOT NULL DEFAULT 0, activatedDate TEXT,
    feedbackBy TEXT NOT NULL DEFAULT '', notifyEmail TEXT NOT NULL DEFAULT '',
    openedBuild TEXT NOT NULL DEFAULT '',
    resolution TEXT NOT NULL DEFAULT '',
    duplicateBug INTEGER NOT NULL DEFAULT 0, linkBug TEXT NOT NULL DEFAULT '',
    "case" INTEGER NOT NULL DEFAULT 0, caseVersion INTEGER NOT NULL DEFAULT 1,
    result INTEGER NOT NULL DEFAULT 0, testtask INTEGER NOT NULL DEFAULT 0,
    lastEditedBy TEXT REFERENCES user (account), lastEditedDate TEXT,
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

-- First an index for each status by which a product's bugs may be browsed, so that no list reads all of them; then one
-- for each other record whose bugs are listed.
CREATE INDEX bug_of_product ON bug (product, deleted);
CREATE INDEX bug_in_status ON bug (product, deleted, status);
CREATE INDEX bug_unclosed ON bug (product, deleted) WHERE status <> 'closed';
CREATE INDEX bug_unassigned ON bug (product, deleted) WHERE assignedTo IS NULL AND status <> 'closed';
CREATE INDEX bug_fixed ON bug (product, deleted, status, resolution) WHERE resolution = 'fixed';
CREATE INDEX bug_opened ON bug (product, deleted, openedDate);
CREATE INDEX bug_resolved ON bug (product, deleted, resolvedDate) WHERE resolvedDate IS NOT NULL;
CREATE INDEX bug_assigned ON bug (product, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX bug_opened_by ON bug (product, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX bug_resolved_by ON bug (product, deleted, resolvedBy) WHERE resolvedBy IS NOT NULL;
CREATE INDEX bug_closed_by ON bug (product, deleted, closedBy) WHERE closedBy IS NOT NULL;
CREATE INDEX bug_unconfirmed ON bug (product, deleted) WHERE confirmed = 0;
CREATE INDEX bug_postponed ON bug (product, deleted) WHERE resolution = 'postponed';
CREATE INDEX bug_with_story ON bug (product, deleted) WHERE story <> 0;
CREATE INDEX bug_of_project ON bug (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX bug_of_execution ON bug (execution, deleted) WHERE execution IS NOT NULL;
CREATE INDEX bug_of_plan ON bug (plan, deleted) WHERE plan <> 0;
CREATE INDEX bug_of_story ON bug (story, deleted) WHERE story <> 0;
CREATE INDEX bug_of_case ON bug ("case", product, deleted) WHERE "case" <> 0;

-- --- Tasks and their efforts ---------------------------------------------------------------------

CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project,
    parent INTEGER NOT NULL DEFAULT 0,
    execution INTEGER NOT NULL REFERENCES project,
    module INTEGER NOT NULL DEFAULT 0,
    story INTEGER NOT NULL DEFAULT 0, storyVersion INTEGER NOT NULL DEFAULT 1,
    fromBug INTEGER NOT NULL DEFAULT 0,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    type TEXT NOT NULL DEFAULT 'misc',
    pri INTEGER NOT NULL DEFAULT 0,
    estimate REAL NOT NULL DEFAULT 0 CHECK (estimate >= 0),
    consumed REAL NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    left REAL NOT NULL DEFAULT 0 CHECK (left >= 0),
    deadline TEXT, status TEXT NOT NULL DEFAULT 'wait', desc TEXT NOT NULL DEFAULT '',
    openedBy TEXT REFERENCES user (account), openedDate TEXT,
    assignedTo TEXT REFERENCES user (account), assignedDate TEXT,
    estStarted TEXT, realStarted TEXT,
    finishedBy TEXT REFERENCES user (account), finishedDate TEXT,
    closedBy TEXT REFERENCES user (account), closedDate TEXT,
    color TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 1,
    finishedList TEXT NOT NULL DEFAULT '',
    canceledBy TEXT REFERENCES user (account), canceledDate TEXT,
    closedReason TEXT NOT NULL DEFAULT '',
    lastEditedBy TEXT REFERENCES user (account), lastEditedDate TEXT,
    activatedDate TEXT,
    "order" INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (estStarted <= deadline)
) STRICT;
CREATE INDEX task_of_execution ON task (execution, deleted);
CREATE INDEX task_of_project ON task (project, deleted);
CREATE INDEX task_of_assignee ON task (assignedTo, deleted);
CREATE INDEX task_of_story ON task (story, deleted) WHERE story <> 0;
CREATE INDEX task_in_state ON task (execution, deleted, status, consumed, "left");

CREATE TABLE effort (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES task,
    date TEXT NOT NULL,
    left REAL NOT NULL DEFAULT 0 CHECK (left >= 0),
    consumed REAL NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    account TEXT REFERENCES user (account),
    work TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX effort_of_task ON effort (task, date);

-- --- Test cases, their steps and results ---------------------------------------------------------

CREATE TABLE testcase (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product INTEGER NOT NULL REFERENCES product,
    branch INTEGER NOT NULL DEFAULT 0, module INTEGER NOT NULL DEFAULT 0,
    story INTEGER NOT NULL DEFAULT 0, storyVersion INTEGER NOT NULL DEFAULT 1,
    title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255), keywords TEXT NOT NULL DEFAULT '',
    precondition TEXT NOT NULL DEFAULT '',
    pri INTEGER NOT NULL DEFAULT 3,
    type TEXT NOT NULL DEFAULT 'feature',
    stage TEXT NOT NULL DEFAULT '',
    fromBug INTEGER NOT NULL DEFAULT 0, fromCaseID INTEGER NOT NULL DEFAULT 0,
    openedBy TEXT REFERENCES user (account), openedDate TEXT,
    status TEXT NOT NULL DEFAULT 'normal',
    project INTEGER REFERENCES project,
    execution INTEGER REFERENCES project,
    color TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 1,
    "order" INTEGER NOT NULL DEFAULT 0,
    reviewedBy TEXT REFERENCES user (account), reviewedDate TEXT,
    lastEditedBy TEXT REFERENCES user (account), lastEditedDate TEXT,
    linkCase TEXT NOT NULL DEFAULT '',
    fromCaseVersion INTEGER NOT NULL DEFAULT 1,
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    lastRunner TEXT NOT NULL DEFAULT '', lastRunDate TEXT,
    lastRunResult TEXT NOT NULL DEFAULT '', caseFails INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX testcase_of_product ON testcase (product, deleted);
CREATE INDEX testcase_of_project ON testcase (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX testcase_of_execution ON testcase (execution, deleted) WHERE execution IS NOT NULL;
CREATE INDEX testcase_of_story ON testcase (story, deleted) WHERE story <> 0;

CREATE TABLE step (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    "case" INTEGER NOT NULL REFERENCES testcase,
    parent INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    type TEXT NOT NULL DEFAULT 'step',
    desc TEXT NOT NULL CHECK (length(desc) > 0),
    expect TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX step_of_case ON step ("case");

-- An item of a test case's steps belongs to the last group before it.
CREATE TRIGGER step_grouped AFTER INSERT ON step WHEN NEW.type = 'item' AND NEW.parent = 0 BEGIN
    UPDATE step SET parent = coalesce(
        (SELECT max(id) FROM step WHERE "case" = NEW."case" AND type = 'group' AND id < NEW.id), 0)
    WHERE id = NEW.id;
END;

CREATE TABLE result (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    testtask INTEGER REFERENCES testtask,
    "case" INTEGER NOT NULL REFERENCES testcase,
    version INTEGER NOT NULL DEFAULT 1,
    caseResult TEXT NOT NULL DEFAULT 'pass',
    stepResults TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(stepResults)),
    lastRunner TEXT REFERENCES user (account),
    date TEXT
) STRICT;
CREATE INDEX result_of_case ON result ("case");

-- --- Test tasks ----------------------------------------------------------------------------------

CREATE TABLE testtask (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    execution INTEGER NOT NULL REFERENCES project,
    build INTEGER REFERENCES build,  -- NULL: the trunk
    type TEXT NOT NULL DEFAULT '',
    owner TEXT REFERENCES user (account),
    pri INTEGER NOT NULL DEFAULT 3,
    begin TEXT NOT NULL, end TEXT NOT NULL,
    realFinishedDate TEXT,
    mailto TEXT NOT NULL DEFAULT ',' CHECK (mailto LIKE ',%' AND mailto LIKE '%,'),
    desc TEXT NOT NULL DEFAULT '', report TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'wait',
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;
CREATE INDEX testtask_of_product ON testtask (product, deleted);
CREATE INDEX testtask_of_project ON testtask (project, deleted);
CREATE INDEX testtask_of_execution ON testtask (execution);

CREATE TABLE testtask_case (
    testtask INTEGER NOT NULL REFERENCES testtask,
    "case" INTEGER NOT NULL REFERENCES testcase,
    PRIMARY KEY (testtask, "case")
) STRICT, WITHOUT ROWID;

-- --- The action log: who did what to which record, and the comment that came with it -------------

CREATE TABLE action (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    objectType TEXT NOT NULL,
    objectID INTEGER NOT NULL,
    actor TEXT NOT NULL REFERENCES user (account),
    action TEXT NOT NULL,
    date TEXT NOT NULL,
    comment TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX action_of_object ON action (objectType, objectID);

PRAGMA user_version = 10;

-- === Version 11 ==================================================================================
-- What fixtures, and requests that now refuse it, could leave behind. A dump with it would not load again.

UPDATE project SET days = max(0, min(days, CAST(julianday(end) - julianday(begin) AS INTEGER) + 1))
WHERE type IN ('sprint', 'stage') AND days NOT BETWEEN 0 AND julianday(end) - julianday(begin) + 1;
UPDATE project SET realEnd = NULL WHERE type = 'program' AND realEnd < realBegan;
UPDATE user SET realname = account WHERE trim(realname, char(9, 10, 11, 12, 13, 32, 160)) = '';
UPDATE user SET email = ''
WHERE email NOT GLOB '?*@?*' OR email GLOB '*@*@*' OR email GLOB '*[' || char(9, 10, 11, 12, 13, 32, 160) || ']*';
UPDATE user SET mobile = '' WHERE mobile NOT GLOB '[0-9+]*' OR substr(mobile, 2) GLOB '*[^0-9 ()-]*' OR length(mobile) < 5;
UPDATE user SET phone = '' WHERE phone NOT GLOB '[0-9+]*' OR substr(phone, 2) GLOB '*[^0-9 ()-]*' OR length(phone) < 5;
UPDATE task SET "left" = 0 WHERE status = 'done' AND "left" <> 0;
UPDATE story SET estimate = 1e9 WHERE parent IS NOT NULL AND estimate > 1e9;
UPDATE story SET estimate = children.estimate
FROM (SELECT parent, round(sum(estimate), 9) AS estimate FROM story
    WHERE parent IS NOT NULL AND NOT deleted GROUP BY parent) AS children
WHERE story.id = children.parent AND story.estimate <> children.estimate;
UPDATE bug SET openedBuild = substr(openedBuild, 1, 16000) WHERE length(CAST(openedBuild AS BLOB)) > 65536;
UPDATE release SET mailto = substr(mailto, 1, 16000) WHERE length(CAST(mailto AS BLOB)) > 65536;
UPDATE testcase SET stage = substr(stage, 1, 16000) WHERE length(CAST(stage AS BLOB)) > 65536;
UPDATE story SET version = 9007199254740992 WHERE version > 9007199254740992;
UPDATE task SET version = 9007199254740992 WHERE version > 9007199254740992;
UPDATE testcase SET version = min(version, 9007199254740992), caseFails = min(caseFails, 9007199254740992)
WHERE max(version, caseFails) > 9007199254740992;
UPDATE bug SET activatedCount = 9007199254740992 WHERE activatedCount > 9007199254740992;
UPDATE department SET "order" = 9007199254740992 WHERE "order" > 9007199254740992;

-- What lists of executions, the names of builds and the groups of steps look up.
CREATE INDEX project_listed ON project (deleted);
CREATE INDEX release_of_build ON release (build, product, deleted) WHERE build <> 0;
CREATE INDEX step_group ON step ("case", id) WHERE type = 'group';

-- How many bugs and stories a product has, by counter; counting 10,000 of them anew takes 7 ms. The triggers below keep
-- the rows, by the view `counted`, and `pmservice check` counts anew.
CREATE TABLE tally (
    product INTEGER NOT NULL REFERENCES product,
    counter TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (product, counter)
) STRICT, WITHOUT ROWID;

-- The counters to which a bug or a story adds one: a row each.
CREATE VIEW counted AS
SELECT 'bug' AS kind, id, product, 'bug ' || status AS counter FROM bug WHERE deleted = 0
UNION ALL
SELECT 'bug', id, product, 'bug fixed' FROM bug WHERE deleted = 0 AND status = 'closed' AND resolution = 'fixed'
UNION ALL
SELECT 'bug', id, product, 'bug of nobody' FROM bug WHERE deleted = 0 AND status <> 'closed' AND assignedTo IS NULL
UNION ALL
SELECT 'story', id, product, type || ' ' || status FROM story WHERE deleted = 0;

INSERT INTO tally SELECT product, counter, count(*) FROM counted GROUP BY product, counter;

CREATE TRIGGER bug_added AFTER INSERT ON bug BEGIN
    INSERT INTO tally SELECT product, counter, 1 FROM counted WHERE kind = 'bug' AND id = NEW.id
    ON CONFLICT DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER bug_taken_out BEFORE UPDATE OF product, deleted, status, resolution, assignedTo ON bug BEGIN
    UPDATE tally SET number = number - 1
    WHERE (product, counter) IN (SELECT product, counter FROM counted WHERE kind = 'bug' AND id = OLD.id);
END;
CREATE TRIGGER bug_put_back AFTER UPDATE OF product, deleted, status, resolution, assignedTo ON bug BEGIN
    INSERT INTO tally SELECT product, counter, 1 FROM counted WHERE kind = 'bug' AND id = NEW.id
    ON CONFLICT DO UPDATE SET number = number + 1;
END;

CREATE TRIGGER story_added AFTER INSERT ON story BEGIN
    INSERT INTO tally SELECT product, counter, 1 FROM counted WHERE kind = 'story' AND id = NEW.id
    ON CONFLICT DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER story_taken_out BEFORE UPDATE OF deleted, type, status ON story BEGIN
    UPDATE tally SET number = number - 1
    WHERE (product, counter) IN (SELECT product, counter FROM counted WHERE kind = 'story' AND id = OLD.id);
END;
CREATE TRIGGER story_put_back AFTER UPDATE OF deleted, type, status ON story BEGIN
    INSERT INTO tally SELECT product, counter, 1 FROM counted WHERE kind = 'story' AND id = NEW.id
    ON CONFLICT DO UPDATE SET number = number + 1;
END;

DROP INDEX bug_fixed;  -- only counters used it

-- The order of departments ends where the numbers of a fixture do.
DROP TRIGGER department_ordered;
CREATE TRIGGER department_ordered AFTER INSERT ON department WHEN NEW."order" IS NULL BEGIN
    UPDATE department SET "order" = min(9007199254740992, 10 + (
        SELECT coalesce(max("order"), 0) FROM department WHERE parent IS NEW.parent AND id <> NEW.id))
    WHERE id = NEW.id;
END;

PRAGMA user_version = 11;

-- === Version 12 ==================================================================================
-- An account is the same in any case.
CREATE INDEX user_in_any_case ON user (account COLLATE NOCASE);

-- The days of a plan cover those of its children.
UPDATE plan SET begin = min(plan.begin, children.begin), end = max(plan.end, children.end)
FROM (SELECT parent, min(begin) AS begin, max(end) AS end FROM plan WHERE parent IS NOT NULL AND NOT deleted GROUP BY parent)
    AS children
WHERE plan.id = children.parent;

PRAGMA user_version = 12;

-- === Version 13 ==================================================================================
-- What does not say its order gets its id × 5.
CREATE TRIGGER project_ordered AFTER INSERT ON project WHEN NEW."order" IS NULL BEGIN
    UPDATE project SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;
CREATE TRIGGER product_ordered AFTER INSERT ON product WHEN NEW."order" IS NULL BEGIN
    UPDATE product SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

PRAGMA user_version = 13;

-- === Views ========================================================================================
-- Two views a table: seen_… has the rows that the caller may see, shown_… what answers show of them. Each connection to
-- a file makes them for itself: what stands in the file decides nothing about who sees what. They call functions that
-- the service defines on each of its connections (add_functions in pmservice.py):
--     me()                     the caller's account
--     sees_all()               whether the caller is an administrator
--     today()                  the day in the service's time zone
--     monday(), next_monday()  the moments at which this week and the next begin there
--     written(table, id)       whether this request wrote that row. Its answer then shows the row even if the caller
--                              may no longer see it, having left the white list; only projects and products have one.
-- Lists call has_words(text, name), too: whether a name has the words of a search, and folded(text), by which texts sort.
-- Conditions such as `bug.plan <> 0` repeat that of a partial index: SQLite uses it only then.

-- Who sees a record, besides administrators, is said here only; lists, totals, links and titles follow:
--     program, project            acl "open", or who is named in it
--     execution                   who sees its project; its own acl counts for nothing
--     product                     acl "open", or who is named in it
--     plan, story, bug, testcase  who sees its product
--     build, testtask, release    who sees its product and its project
--     task                        who sees its execution
--     effort, result              who sees its task, its case
--     user, department            everybody
-- A product or project of a private program is not private by that. sees_all() is asked first, because it is quick.
CREATE TEMP VIEW seen_project AS SELECT * FROM project
WHERE sees_all() OR EXISTS (
    SELECT 1 FROM project AS owner
    WHERE owner.id = coalesce(project.project, project.id)
        AND (owner.acl = 'open' OR me() IN (owner.openedBy, owner.PM, owner.PO, owner.QD, owner.RD)
            OR instr(owner.whitelist, ',' || me() || ',')));

CREATE TEMP VIEW seen_product AS SELECT * FROM product
WHERE sees_all() OR acl = 'open' OR me() IN (createdBy, PO, QD, RD) OR instr(whitelist, ',' || me() || ',');

-- What lists and counts may have of programs, projects, executions and products, and of what belongs to them (HOMES in
-- pmservice.py): those that are not deleted, nor executions of a deleted project.
CREATE TEMP VIEW live_project AS SELECT * FROM seen_project AS home
WHERE deleted = 0 AND NOT EXISTS (SELECT 1 FROM project AS above WHERE above.id = home.project AND above.deleted);
CREATE TEMP VIEW live_product AS SELECT * FROM seen_product WHERE deleted = 0;

CREATE TEMP VIEW seen_plan AS SELECT * FROM plan
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_product WHERE id = plan.product);
CREATE TEMP VIEW seen_story AS SELECT * FROM story
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_product WHERE id = story.product);
CREATE TEMP VIEW seen_bug AS SELECT * FROM bug
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_product WHERE id = bug.product);
CREATE TEMP VIEW seen_testcase AS SELECT * FROM testcase
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_product WHERE id = testcase.product);
CREATE TEMP VIEW seen_build AS SELECT * FROM build
WHERE sees_all() OR (EXISTS (SELECT 1 FROM seen_product WHERE id = build.product)
    AND EXISTS (SELECT 1 FROM seen_project WHERE id = build.project));
CREATE TEMP VIEW seen_testtask AS SELECT * FROM testtask
WHERE sees_all() OR (EXISTS (SELECT 1 FROM seen_product WHERE id = testtask.product)
    AND EXISTS (SELECT 1 FROM seen_project WHERE id = testtask.project));
CREATE TEMP VIEW seen_release AS SELECT * FROM release
WHERE sees_all() OR (EXISTS (SELECT 1 FROM seen_product WHERE id = release.product)
    AND (project IS NULL OR EXISTS (SELECT 1 FROM seen_project WHERE id = release.project)));
CREATE TEMP VIEW seen_task AS SELECT * FROM task
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_project WHERE id = task.execution);
CREATE TEMP VIEW seen_effort AS SELECT * FROM effort
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_task WHERE id = effort.task);
CREATE TEMP VIEW seen_result AS SELECT * FROM result
WHERE sees_all() OR EXISTS (SELECT 1 FROM seen_testcase WHERE id = result."case");

CREATE TEMP VIEW seen_user AS SELECT * FROM user;
CREATE TEMP VIEW seen_department AS SELECT * FROM department;
CREATE TEMP VIEW shown_user AS SELECT * FROM user;
CREATE TEMP VIEW shown_effort AS SELECT * FROM seen_effort;
CREATE TEMP VIEW shown_result AS SELECT * FROM seen_result;

CREATE TEMP VIEW shown_department AS
SELECT *, length(path) - length(replace(path, ',', '')) - 1 AS grade
FROM (
    SELECT department.*,
        (WITH RECURSIVE up(above, path) AS (
            SELECT department.parent, ',' || department.id || ','
            UNION ALL
            SELECT above.parent, ',' || above.id || path FROM up JOIN department AS above ON above.id = up.above)
        SELECT path FROM up WHERE above IS NULL) AS path,
        coalesce((SELECT realname FROM user WHERE account = department.manager), '') AS managerName
    FROM department);

-- The path of an execution is that of its project, whatever is above that.
CREATE TEMP VIEW shown_project AS
SELECT *, iif(project IS NULL, length(path) - length(replace(path, ',', '')) - 1, 1) AS grade,
    iif(totalConsumed = 0, 0, CAST(round(100 * totalConsumed / (totalConsumed + totalLeft), 6) + 0.5 AS INTEGER)) AS progress
FROM (
    SELECT project.*,
        (WITH RECURSIVE up(above, path) AS (
            SELECT coalesce(project.project, project.parent), ',' || project.id || ','
            UNION ALL
            SELECT iif(project.project IS NULL, home.parent, NULL), ',' || home.id || path
            FROM up JOIN project AS home ON home.id = up.above)
        SELECT path FROM up WHERE above IS NULL) AS path,
        (SELECT json_group_array(product) FROM project_product WHERE project = project.id) AS products,
        -- what the GET of one shows: its products with their plans, and the hours of its tasks
        (SELECT json_group_array(json_object('id', id, 'name', name, 'plans', json(
            (SELECT json_group_array(json_object('id', id, 'title', title))
                FROM (SELECT id, title FROM plan WHERE product = linked.id AND deleted = 0 ORDER BY id)))))
            FROM (SELECT id, name FROM live_product
                WHERE id IN (SELECT product FROM project_product WHERE project = project.id) ORDER BY id) AS linked)
            AS productsInFull,
        (SELECT coalesce(round(sum(estimate), 9), 0.0) FROM task
            WHERE execution = project.id AND deleted = 0 AND status <> 'cancel') AS totalEstimate,
        (SELECT coalesce(round(sum(consumed), 9), 0.0) FROM task
            WHERE execution = project.id AND deleted = 0 AND status <> 'cancel') AS totalConsumed,
        (SELECT coalesce(round(sum("left"), 9), 0.0) FROM task
            WHERE execution = project.id AND deleted = 0 AND status NOT IN ('cancel', 'closed')) AS totalLeft
    FROM project
    WHERE EXISTS (SELECT 1 FROM seen_project AS seen WHERE seen.id = project.id) OR written('project', id));

-- Quirk: a product without stories shows more members. HAVING gives no row for it, so that coalesce() takes them.
-- No story has the status '', which counts 0.
CREATE TEMP VIEW shown_product AS
SELECT product.*,
    coalesce((SELECT name FROM seen_project WHERE id = product.program), '') AS programName,
    coalesce((SELECT json_object('', 0,
        'draft', coalesce(sum(number) FILTER (WHERE counter = 'story draft'), 0),
        'active', coalesce(sum(number) FILTER (WHERE counter = 'story active'), 0),
        'closed', coalesce(sum(number) FILTER (WHERE counter = 'story closed'), 0),
        'changed', coalesce(sum(number) FILTER (WHERE counter = 'story changed'), 0))
        FROM tally WHERE tally.product = product.id AND counter GLOB 'story *' GROUP BY product HAVING sum(number) > 0),
        '{"0":"","1":"draft","2":"active","3":"closed","4":"changed","":0,"draft":0,"active":0,"closed":0,"changed":0}'
    ) AS stories,
    coalesce((SELECT json_object('', 0,
        'draft', coalesce(sum(number) FILTER (WHERE counter = 'requirement draft'), 0),
        'active', coalesce(sum(number) FILTER (WHERE counter = 'requirement active'), 0),
        'closed', coalesce(sum(number) FILTER (WHERE counter = 'requirement closed'), 0),
        'changed', coalesce(sum(number) FILTER (WHERE counter = 'requirement changed'), 0))
        FROM tally WHERE tally.product = product.id AND counter GLOB 'requirement *' GROUP BY product HAVING sum(number) > 0),
        '{"0":"","1":"draft","2":"active","3":"closed","4":"changed","":0,"draft":0,"active":0,"closed":0,"changed":0}'
    ) AS requirements,
    (SELECT count(*) FROM plan WHERE product = product.id AND deleted = 0 AND end > today()) AS plans,
    (SELECT count(*) FROM release WHERE product = product.id AND deleted = 0
        AND (project IS NULL OR EXISTS (SELECT 1 FROM live_project AS home WHERE home.id = release.project))) AS releases,
    (SELECT coalesce(sum(number), 0) FROM tally WHERE tally.product = product.id
        AND counter IN ('bug active', 'bug resolved', 'bug closed')) AS bugs,
    coalesce((SELECT number FROM tally WHERE tally.product = product.id AND counter = 'bug active'), 0) AS unResolved,
    coalesce((SELECT number FROM tally WHERE tally.product = product.id AND counter = 'bug closed'), 0) AS closedBugs,
    coalesce((SELECT number FROM tally WHERE tally.product = product.id AND counter = 'bug fixed'), 0) AS fixedBugs,
    (SELECT count(*) FROM bug WHERE product = product.id AND deleted = 0
        AND openedDate >= monday() AND openedDate < next_monday()) AS thisWeekBugs,
    coalesce((SELECT number FROM tally WHERE tally.product = product.id AND counter = 'bug of nobody'), 0) AS assignToNull,
    (SELECT coalesce(CAST(round(100.0 * sum(number) FILTER (WHERE counter GLOB '* closed') / sum(number)) AS INTEGER), 0)
        FROM tally WHERE tally.product = product.id AND (counter GLOB 'story *' OR counter GLOB 'requirement *')) AS progress
FROM product
WHERE EXISTS (SELECT 1 FROM seen_product AS seen WHERE seen.id = product.id) OR written('product', id);

CREATE TEMP VIEW shown_plan AS
SELECT plan.*,
    iif(EXISTS (SELECT 1 FROM plan AS child WHERE child.parent = plan.id AND child.deleted = 0),
        -1, coalesce(parent, 0)) AS parentShown,  -- -1: it has children
    (SELECT count(*) FROM plan_story CROSS JOIN story ON story.id = plan_story.story
        WHERE plan_story.plan = plan.id AND story.product = plan.product AND story.deleted = 0) AS stories,
    (SELECT count(*) FROM bug
        WHERE bug.plan = plan.id AND bug.plan <> 0 AND bug.product = plan.product AND bug.deleted = 0) AS bugs,
    -- Whole millionths, because a sum of floats depends on their order. An estimate counts as 1e8 hours at most, so
    -- that the sum fits in 64 bits.
    (SELECT coalesce(sum(CAST(round(min(estimate, 1e8) * 1e6) AS INTEGER)), 0) / 1e6
        FROM plan_story JOIN story ON story.id = plan_story.story
        WHERE plan_story.plan = plan.id AND story.product = plan.product AND story.deleted = 0) AS hour,
    end < today() AS expired
FROM seen_plan AS plan;

-- By itself, so that lists of a stage need not show each story.
CREATE TEMP VIEW story_stage AS
SELECT id, product, type, deleted,
    CASE
        WHEN story.status = 'closed' THEN 'closed'
        WHEN EXISTS (SELECT 1 FROM release_story JOIN release ON release.id = release_story.release
            WHERE release_story.story = story.id AND release.product = story.product
                AND (release.project IS NULL
                    OR EXISTS (SELECT 1 FROM seen_project AS home WHERE home.id = release.project))) THEN 'released'
        WHEN EXISTS (SELECT 1 FROM project_story JOIN seen_project AS home ON home.id = project_story.project
            WHERE project_story.story = story.id AND home.deleted = 0) THEN 'projected'
        WHEN EXISTS (SELECT 1 FROM plan_story JOIN plan ON plan.id = plan_story.plan
            WHERE plan_story.story = story.id AND plan.deleted = 0) THEN 'planned'
        ELSE 'wait'
    END AS stage
FROM story;

CREATE TEMP VIEW shown_story AS
SELECT story.*,
    coalesce((SELECT group_concat(plan) FROM plan_story WHERE story = story.id), '') AS plan,
    (SELECT stage FROM story_stage WHERE story_stage.id = story.id) AS stage,
    iif(EXISTS (SELECT 1 FROM story AS child WHERE child.parent = story.id AND child.deleted = 0),
        -1, coalesce(story.parent, 0)) AS parentShown,  -- -1: it has children
    coalesce((SELECT group_concat(id) FROM story AS child WHERE parent = story.id AND deleted = 0), '') AS childStories,
    (SELECT json_group_object(CAST(id AS TEXT), title) FROM story AS child
        WHERE parent = story.id AND deleted = 0) AS extraStories,
    coalesce((SELECT title FROM story AS up WHERE id = story.parent), '') AS parentName,
    coalesce((SELECT pri FROM story AS up WHERE id = story.parent), 0) AS parentPri,
    -- Quirk: [] if there is none. The + keeps SQLite from a search by type: the few ids are quicker.
    coalesce(nullif((
        SELECT json_group_object(CAST(id AS TEXT),
            json_object('project', id, 'name', name, 'status', status, 'type', type))
        FROM seen_project
        WHERE +type IN ('sprint', 'stage') AND id IN (SELECT project FROM project_story WHERE story = story.id)
    ), '{}'), '[]') AS executions,
    (SELECT json_group_array(account) FROM story_reviewer WHERE story = story.id) AS reviewer,
    (SELECT json_group_array(account) FROM story_reviewer WHERE story = story.id AND result = '') AS notReview,
    coalesce((SELECT group_concat(title, ' ') FROM plan
        WHERE id IN (SELECT plan FROM plan_story WHERE story = story.id) AND deleted = 0), '') AS planTitle,
    (SELECT json_group_array(title) FROM plan
        WHERE id IN (SELECT plan FROM plan_story WHERE story = story.id) AND deleted = 0) AS planTitles,
    product.name AS productName, product.status AS productStatus, product.type AS productType,
    -- as fixtures have them; `homes` are the projects and executions that it is linked to
    (SELECT json_group_array(json_object('version', version, 'title', title, 'spec', spec, 'verify', verify)) FROM (
        SELECT version, title, spec, verify FROM story_version WHERE story = story.id AND version < story.version
        UNION ALL SELECT story.version, story.title, story.spec, story.verify)) AS versions,
    (SELECT json_group_array(json_object('account', account, 'result', result)) FROM (
        SELECT account, result FROM story_reviewer WHERE story = story.id ORDER BY rowid)) AS reviewers,
    (SELECT json_group_array(plan) FROM plan_story WHERE story = story.id) AS plans,
    (SELECT json_group_array(project) FROM project_story WHERE story = story.id) AS homes
FROM seen_story AS story JOIN product ON product.id = story.product;

-- title: the name of the build's release, if it has one; bugs and the form for them show builds under this name.
CREATE TEMP VIEW shown_build AS
SELECT build.*, execution AS executionID,
    coalesce((SELECT name FROM seen_project WHERE id = build.execution), '') AS executionName,
    product.name AS productName, product.type AS productType,
    (SELECT json_group_array(story) FROM build_story WHERE build = build.id) AS stories,
    (SELECT json_group_array(bug) FROM build_bug WHERE build = build.id) AS bugs,
    coalesce((SELECT made.name FROM seen_release AS made
        WHERE made.build <> 0 AND made.build = build.id AND made.product = build.product AND made.deleted = 0
        ORDER BY made.id), build.name) AS title
FROM seen_build AS build JOIN product ON product.id = build.product;

CREATE TEMP VIEW shown_release AS
SELECT release.*,
    (SELECT name FROM product WHERE id = release.product) AS productName,
    coalesce((SELECT name FROM project WHERE id = release.project), '') AS projectName,
    coalesce((SELECT name FROM seen_build WHERE id = release.build AND deleted = 0), buildName) AS nameOfBuild,
    build AS buildID
FROM seen_release AS release;

CREATE TEMP VIEW shown_bug AS
SELECT bug.*,
    coalesce((SELECT version FROM seen_story WHERE id = bug.story) > storyVersion, 0) AS needconfirm,
    -- "trunk,1" becomes ["trunk","1"]; `id = …` finds a build by the index; the CAST refuses "1.0"
    (SELECT json_group_array(json_object('id', named.value, 'title', coalesce(
        (SELECT title FROM shown_build WHERE id = named.value AND CAST(id AS TEXT) = named.value AND deleted = 0),
        iif(lower(named.value) = 'trunk', 'Trunk', ''))))
        FROM (SELECT value FROM json_each('[' || replace(json_quote(openedBuild), ',', '","') || ']')
            WHERE value <> '' LIMIT 100) AS named) AS openedBuilds
FROM seen_bug AS bug;

CREATE TEMP VIEW shown_task AS
SELECT task.*,
    (SELECT id FROM seen_story WHERE id = task.story) AS storyID,
    (SELECT title FROM seen_story WHERE id = task.story) AS storyTitle,
    (SELECT version FROM seen_story WHERE id = task.story) AS latestStoryVersion,
    (SELECT status FROM seen_story WHERE id = task.story) AS storyStatus,
    coalesce((SELECT status = 'active' AND version > task.storyVersion FROM seen_story WHERE id = task.story), 0)
        AS needConfirm,
    coalesce((SELECT realname FROM user WHERE account = task.assignedTo), '') AS assignedToRealName,
    -- rounded half up, without the noise of floats just below a half
    CASE
        WHEN status = 'done' THEN 100
        WHEN consumed = 0 THEN 0
        ELSE CAST(round(100 * consumed / (consumed + "left"), 6) + 0.5 AS INTEGER)
    END AS progress,
    (SELECT json_group_object(CAST(id AS TEXT), title) FROM testcase
        WHERE story <> 0 AND story = task.story AND storyVersion = task.storyVersion AND deleted = 0
            AND EXISTS (SELECT 1 FROM live_product AS home WHERE home.id = testcase.product)) AS cases
FROM seen_task AS task;

CREATE TEMP VIEW shown_testcase AS
SELECT testcase.*, id AS "case", version AS currentVersion, version AS caseVersion, status AS caseStatus,
    (SELECT json_group_array(json_object('id', id, 'parent', parent, 'case', "case", 'version', version,
        'type', type, 'desc', desc, 'expect', expect))
        FROM (SELECT * FROM step WHERE "case" = testcase.id ORDER BY id)) AS steps,
    (SELECT json_group_array(json_object('id', id, 'title', title)) FROM bug
        WHERE "case" <> 0 AND "case" = testcase.id AND deleted = 0
            AND EXISTS (SELECT 1 FROM live_product AS home WHERE home.id = bug.product)) AS toBugs,
    (SELECT title FROM seen_story WHERE id = testcase.story) AS storyTitle,
    (SELECT count(*) FROM bug
        WHERE "case" <> 0 AND "case" = testcase.id AND product = testcase.product AND deleted = 0) AS bugs,
    (SELECT count(*) FROM result WHERE "case" = testcase.id) AS results,
    (SELECT count(*) FROM step WHERE "case" = testcase.id) AS stepNumber
FROM seen_testcase AS testcase;

CREATE TEMP VIEW shown_testtask AS
SELECT testtask.*,
    product.name AS productName, product.type AS productType,
    coalesce((SELECT name FROM seen_project WHERE id = testtask.execution), '') AS executionName,
    coalesce((SELECT name FROM seen_build WHERE id = testtask.build AND deleted = 0), '') AS buildName,
    coalesce(CAST(build AS TEXT), 'trunk') AS buildOrTrunk,
    (SELECT json_group_array("case") FROM testtask_case WHERE testtask = testtask.id) AS testcases
FROM seen_testtask AS testtask JOIN product ON product.id = testtask.product;
