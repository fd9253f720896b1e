-- The database of pmservice: tables hold facts under the names of the interface, triggers keep every count up to date.
--
-- Conventions: a link that is not set is NULL; a person is an account; a moment is UTC text,
-- YYYY-MM-DDThh:mm:ssZ; a day is YYYY-MM-DD; NULL is "unset". Defaults that never depend on the
-- request stand here and nowhere else. Records are never removed: `deleted`
-- takes them off lists and refuses changes; by its id a record is still shown.

-- An older database runs the parts that it lacks, in one transaction: the tables, indexes and triggers below a
-- version's line never change once it is released, and each part ends at its `user_version`.

-- === Version 1 ====================================================================================

PRAGMA application_id = 1886221174;  -- "pmsv": no other program's file is taken for ours

-- --- People and tokens ----------------------------------------------------------------------------

CREATE TABLE user (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    account  TEXT NOT NULL UNIQUE CHECK (length(account) BETWEEN 1 AND 30),
    realname TEXT NOT NULL,
    avatar   TEXT NOT NULL DEFAULT '',
    role     TEXT NOT NULL DEFAULT '',
    email    TEXT NOT NULL DEFAULT '',
    admin    INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
    password TEXT,  -- a salted scrypt hash; NULL: nobody can log in as this user
    deleted  INTEGER NOT NULL DEFAULT 0 CHECK (deleted = 0)
) STRICT;

CREATE TABLE token (
    hash    TEXT PRIMARY KEY,  -- SHA-256 of the token, which itself is kept nowhere
    account TEXT NOT NULL REFERENCES user (account),
    used    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- --- Programs, projects and executions: one sequence of ids, as `path` needs ----------------------

CREATE TABLE project (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER REFERENCES project,  -- of an execution
    parent         INTEGER REFERENCES project,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    code           TEXT NOT NULL DEFAULT '',
    model          TEXT NOT NULL DEFAULT '' CHECK (model IN ('', 'scrum', 'waterfall')),
    type           TEXT NOT NULL CHECK (type IN ('program', 'project', 'sprint', 'stage')),
    budget         INTEGER NOT NULL DEFAULT 0,
    budgetUnit     TEXT NOT NULL DEFAULT 'CNY' CHECK (budgetUnit IN ('CNY', 'USD')),
    begin          TEXT NOT NULL,
    end            TEXT NOT NULL,
    realBegan      TEXT,
    realEnd        TEXT,
    desc           TEXT NOT NULL DEFAULT '',
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    PM             TEXT REFERENCES user (account),
    acl            TEXT NOT NULL CHECK (acl IN ('open', 'private')),
    whitelist      TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    status         TEXT NOT NULL DEFAULT 'wait'
                   CHECK (status IN ('wait', 'doing', 'suspended', 'closed')),
    lifetime       TEXT NOT NULL DEFAULT '',
    attribute      TEXT NOT NULL DEFAULT '',
    percent        INTEGER NOT NULL DEFAULT 0,
    path           TEXT NOT NULL DEFAULT '',  -- '' until Store.place_projects has worked it out
    grade          INTEGER NOT NULL DEFAULT 0,
    days           INTEGER NOT NULL DEFAULT 0,
    version        INTEGER NOT NULL DEFAULT 0,
    openedVersion  TEXT NOT NULL DEFAULT '',
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    canceledBy     TEXT REFERENCES user (account),
    canceledDate   TEXT,
    PO             TEXT REFERENCES user (account),
    QD             TEXT REFERENCES user (account),
    RD             TEXT REFERENCES user (account),
    team           TEXT NOT NULL DEFAULT '',
    "order"        INTEGER,  -- id × 5 unless given
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;

CREATE INDEX project_unplaced ON project (id) WHERE path = '';
CREATE INDEX project_of_type ON project (type, deleted);
CREATE INDEX execution_of_project ON project (project, deleted) WHERE project IS NOT NULL;

CREATE TRIGGER project_numbered AFTER INSERT ON project WHEN NEW."order" IS NULL BEGIN
    UPDATE project SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

-- --- Products -------------------------------------------------------------------------------------

CREATE TABLE product (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    program        INTEGER REFERENCES project,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    code           TEXT NOT NULL DEFAULT '',
    line           INTEGER NOT NULL DEFAULT 0,
    PO             TEXT REFERENCES user (account),
    QD             TEXT REFERENCES user (account),
    RD             TEXT REFERENCES user (account),
    type           TEXT NOT NULL DEFAULT 'normal' CHECK (type IN ('normal', 'branch', 'platform')),
    desc           TEXT NOT NULL DEFAULT '',
    acl            TEXT NOT NULL DEFAULT 'private' CHECK (acl IN ('open', 'private')),
    whitelist      TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    createdBy      TEXT REFERENCES user (account),
    createdDate    TEXT,
    status         TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('normal', 'closed')),
    reviewer       TEXT NOT NULL DEFAULT '',
    createdVersion TEXT NOT NULL DEFAULT '',
    "order"        INTEGER,  -- id × 5 unless given
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX product_listed ON product (deleted);

CREATE TABLE project_product (
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    PRIMARY KEY (project, product)
) STRICT, WITHOUT ROWID;

-- What GET /products counts, kept by the triggers below. A bug counts while it is not deleted.
CREATE TABLE product_count (
    product      INTEGER PRIMARY KEY REFERENCES product,
    releases     INTEGER NOT NULL DEFAULT 0,
    bugs         INTEGER NOT NULL DEFAULT 0,
    unResolved   INTEGER NOT NULL DEFAULT 0,
    closedBugs   INTEGER NOT NULL DEFAULT 0,
    fixedBugs    INTEGER NOT NULL DEFAULT 0,
    assignToNull INTEGER NOT NULL DEFAULT 0
) STRICT;

-- How many bugs of a product were opened in each quarter of an hour since 1970: the midnights of
-- every time zone fall on its edges, so a week in any of them is a sum over few rows.
CREATE TABLE bugs_opened (
    product INTEGER NOT NULL REFERENCES product,
    quarter INTEGER NOT NULL,
    bugs    INTEGER NOT NULL,
    PRIMARY KEY (product, quarter)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER product_numbered AFTER INSERT ON product WHEN NEW."order" IS NULL BEGIN
    UPDATE product SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

CREATE TRIGGER product_counted AFTER INSERT ON product BEGIN
    INSERT INTO product_count (product) VALUES (NEW.id) ON CONFLICT DO NOTHING;
END;

-- --- Releases -------------------------------------------------------------------------------------

CREATE TABLE release (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    project   INTEGER REFERENCES project,
    product   INTEGER NOT NULL REFERENCES product,
    branch    INTEGER NOT NULL DEFAULT 0,
    build     INTEGER NOT NULL DEFAULT 0,
    name      TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    date      TEXT NOT NULL,
    desc      TEXT NOT NULL DEFAULT '',
    status    TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('normal', 'terminate')),
    marker    TEXT NOT NULL DEFAULT '0',
    stories   TEXT NOT NULL DEFAULT '',
    bugs      TEXT NOT NULL DEFAULT '',
    leftBugs  TEXT NOT NULL DEFAULT '',
    mailto    TEXT NOT NULL DEFAULT '',
    buildName TEXT NOT NULL DEFAULT '',
    deleted   INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX release_of_project ON release (project, deleted);
CREATE INDEX release_of_product ON release (product, deleted);

CREATE TRIGGER release_opened AFTER INSERT ON release WHEN NOT NEW.deleted BEGIN
    INSERT INTO product_count (product, releases) VALUES (NEW.product, 1)
    ON CONFLICT DO UPDATE SET releases = releases + 1;
END;

CREATE TRIGGER release_moved AFTER UPDATE OF deleted ON release BEGIN
    UPDATE product_count SET releases = releases + OLD.deleted - NEW.deleted WHERE product = NEW.product;
END;

-- --- Bugs -----------------------------------------------------------------------------------------

CREATE TABLE bug (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    product        INTEGER NOT NULL REFERENCES product,
    branch         INTEGER NOT NULL DEFAULT 0,
    module         INTEGER NOT NULL DEFAULT 0,
    project        INTEGER REFERENCES project,
    execution      INTEGER REFERENCES project,
    toTask         INTEGER NOT NULL DEFAULT 0,
    toStory        INTEGER NOT NULL DEFAULT 0,
    title          TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    keywords       TEXT NOT NULL DEFAULT '',
    severity       INTEGER NOT NULL DEFAULT 3,
    pri            INTEGER NOT NULL DEFAULT 3,
    type           TEXT NOT NULL DEFAULT 'codeerror' CHECK (type IN ('codeerror', 'config', 'install', 'security',
                   'performance', 'standard', 'automation', 'designdefect', 'others')),
    os             TEXT NOT NULL DEFAULT '',
    browser        TEXT NOT NULL DEFAULT '',
    steps          TEXT NOT NULL DEFAULT '',
    task           INTEGER NOT NULL DEFAULT 0,
    story          INTEGER NOT NULL DEFAULT 0,
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    deadline       TEXT,
    assignedTo     TEXT REFERENCES user (account),
    assignedDate   TEXT,
    resolvedBy     TEXT REFERENCES user (account),
    resolvedDate   TEXT,
    resolvedBuild  TEXT NOT NULL DEFAULT '',
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    plan           INTEGER NOT NULL DEFAULT 0,
    storyVersion   INTEGER NOT NULL DEFAULT 1,
    hardware       TEXT NOT NULL DEFAULT '',
    found          TEXT NOT NULL DEFAULT '',
    status         TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'resolved', 'closed')),
    color          TEXT NOT NULL DEFAULT '',
    confirmed      INTEGER NOT NULL DEFAULT 0,
    activatedCount INTEGER NOT NULL DEFAULT 0,
    activatedDate  TEXT,
    feedbackBy     TEXT NOT NULL DEFAULT '',
    notifyEmail    TEXT NOT NULL DEFAULT '',
    openedBuild    TEXT NOT NULL DEFAULT '',
    resolution     TEXT NOT NULL DEFAULT '' CHECK (resolution IN ('', 'bydesign', 'duplicate', 'external', 'fixed',
                   'notrepro', 'postponed', 'willnotfix')),
    duplicateBug   INTEGER NOT NULL DEFAULT 0,
    linkBug        TEXT NOT NULL DEFAULT '',
    "case"         INTEGER NOT NULL DEFAULT 0,
    caseVersion    INTEGER NOT NULL DEFAULT 1,
    result         INTEGER NOT NULL DEFAULT 0,
    testtask       INTEGER NOT NULL DEFAULT 0,
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX bug_of_product ON bug (product, deleted);
CREATE INDEX bug_in_status ON bug (product, deleted, status);

CREATE TRIGGER bug_opened AFTER INSERT ON bug WHEN NOT NEW.deleted BEGIN
    INSERT INTO product_count (product, bugs, unResolved, closedBugs, fixedBugs, assignToNull) VALUES (
        NEW.product, 1, NEW.status = 'active', NEW.status = 'closed',
        NEW.status = 'closed' AND NEW.resolution = 'fixed', NEW.assignedTo IS NULL)
    ON CONFLICT DO UPDATE SET
        bugs         = bugs + 1,
        unResolved   = unResolved + excluded.unResolved,
        closedBugs   = closedBugs + excluded.closedBugs,
        fixedBugs    = fixedBugs + excluded.fixedBugs,
        assignToNull = assignToNull + excluded.assignToNull;
    INSERT INTO bugs_opened VALUES (NEW.product, coalesce(strftime('%s', NEW.openedDate) / 900, 0), 1)
    ON CONFLICT DO UPDATE SET bugs = bugs + 1;
END;

-- What the bug was is taken off, what it now is is added: true of a transition and of a deletion.
CREATE TRIGGER bug_moved AFTER UPDATE OF status, resolution, assignedTo, deleted ON bug BEGIN
    UPDATE product_count SET
        bugs         = bugs + OLD.deleted - NEW.deleted,
        unResolved   = unResolved - (NOT OLD.deleted AND OLD.status = 'active')
                                  + (NOT NEW.deleted AND NEW.status = 'active'),
        closedBugs   = closedBugs - (NOT OLD.deleted AND OLD.status = 'closed')
                                  + (NOT NEW.deleted AND NEW.status = 'closed'),
        fixedBugs    = fixedBugs - (NOT OLD.deleted AND OLD.status = 'closed' AND OLD.resolution = 'fixed')
                                 + (NOT NEW.deleted AND NEW.status = 'closed' AND NEW.resolution = 'fixed'),
        assignToNull = assignToNull - (NOT OLD.deleted AND OLD.assignedTo IS NULL)
                                    + (NOT NEW.deleted AND NEW.assignedTo IS NULL)
    WHERE product = NEW.product;
    UPDATE bugs_opened SET bugs = bugs + OLD.deleted - NEW.deleted
    WHERE product = NEW.product AND quarter = coalesce(strftime('%s', NEW.openedDate) / 900, 0);
END;

-- --- Tasks ----------------------------------------------------------------------------------------

CREATE TABLE task (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER NOT NULL REFERENCES project,
    parent         INTEGER NOT NULL DEFAULT 0,
    execution      INTEGER NOT NULL REFERENCES project,
    module         INTEGER NOT NULL DEFAULT 0,
    story          INTEGER NOT NULL DEFAULT 0,
    fromBug        INTEGER NOT NULL DEFAULT 0,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    type           TEXT NOT NULL DEFAULT 'misc' CHECK (type IN ('design', 'devel', 'request', 'test', 'study',
                   'discuss', 'ui', 'affair', 'misc')),
    pri            INTEGER NOT NULL DEFAULT 0,
    estimate       REAL NOT NULL DEFAULT 0 CHECK (estimate >= 0),
    consumed       REAL NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    left           REAL NOT NULL DEFAULT 0 CHECK (left >= 0),
    deadline       TEXT,
    status         TEXT NOT NULL DEFAULT 'wait'
                   CHECK (status IN ('wait', 'doing', 'done', 'pause', 'closed', 'cancel')),
    desc           TEXT NOT NULL DEFAULT '',
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    assignedTo     TEXT REFERENCES user (account),
    assignedDate   TEXT,
    estStarted     TEXT,
    realStarted    TEXT,
    finishedBy     TEXT REFERENCES user (account),
    finishedDate   TEXT,
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    storyVersion   INTEGER NOT NULL DEFAULT 1,
    color          TEXT NOT NULL DEFAULT '',
    version        INTEGER NOT NULL DEFAULT 1,
    finishedList   TEXT NOT NULL DEFAULT '',
    canceledBy     TEXT REFERENCES user (account),
    canceledDate   TEXT,
    closedReason   TEXT NOT NULL DEFAULT '',
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    activatedDate  TEXT,
    "order"        INTEGER NOT NULL DEFAULT 0,
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (estStarted <= deadline)
) STRICT;

CREATE INDEX task_of_execution ON task (execution, deleted);
CREATE INDEX task_of_project ON task (project, deleted);
CREATE INDEX task_of_assignee ON task (assignedTo, deleted);

-- --- Test cases and their steps -------------------------------------------------------------------

CREATE TABLE testcase (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    product         INTEGER NOT NULL REFERENCES product,
    branch          INTEGER NOT NULL DEFAULT 0,
    module          INTEGER NOT NULL DEFAULT 0,
    story           INTEGER NOT NULL DEFAULT 0,
    storyVersion    INTEGER NOT NULL DEFAULT 1,
    title           TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    precondition    TEXT NOT NULL DEFAULT '',
    pri             INTEGER NOT NULL DEFAULT 3,
    type            TEXT NOT NULL DEFAULT 'feature' CHECK (type IN ('feature', 'performance', 'config', 'install',
                    'security', 'interface', 'unit', 'other')),
    stage           TEXT NOT NULL DEFAULT '',
    fromBug         INTEGER NOT NULL DEFAULT 0,
    fromCaseID      INTEGER NOT NULL DEFAULT 0,
    openedBy        TEXT REFERENCES user (account),
    openedDate      TEXT,
    status          TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('wait', 'normal', 'blocked', 'investigate')),
    project         INTEGER REFERENCES project,
    execution       INTEGER REFERENCES project,
    keywords        TEXT NOT NULL DEFAULT '',
    color           TEXT NOT NULL DEFAULT '',
    "order"         INTEGER NOT NULL DEFAULT 0,
    reviewedBy      TEXT REFERENCES user (account),
    reviewedDate    TEXT,
    lastEditedBy    TEXT REFERENCES user (account),
    lastEditedDate  TEXT,
    version         INTEGER NOT NULL DEFAULT 1,
    linkCase        TEXT NOT NULL DEFAULT '',
    fromCaseVersion INTEGER NOT NULL DEFAULT 1,
    deleted         INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    lastRunner      TEXT NOT NULL DEFAULT '',
    lastRunDate     TEXT,
    lastRunResult   TEXT NOT NULL DEFAULT '',
    caseFails       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX testcase_of_product ON testcase (product, deleted);
CREATE INDEX testcase_of_story ON testcase (story, deleted) WHERE story <> 0;

CREATE TABLE step (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    "case"  INTEGER NOT NULL REFERENCES testcase,
    parent  INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    type    TEXT NOT NULL DEFAULT 'step',
    desc    TEXT NOT NULL CHECK (length(desc) > 0),
    expect  TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX step_of_case ON step ("case");

-- --- The action log: who did what to which record, and the comment that came with it --------------

CREATE TABLE action (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    objectType TEXT NOT NULL,
    objectID   INTEGER NOT NULL,
    actor      TEXT NOT NULL REFERENCES user (account),
    action     TEXT NOT NULL,
    date       TEXT NOT NULL,
    comment    TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX action_of_object ON action (objectType, objectID);

PRAGMA user_version = 1;

-- === Version 2: lists as quick in a large product as in a small one ===============================

-- Of a product's bugs, those that a kind of browsing asks for, so that no list reads all of them.
CREATE INDEX bug_assigned ON bug (product, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX bug_opened_by ON bug (product, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX bug_unconfirmed ON bug (product, deleted) WHERE confirmed = 0;
CREATE INDEX bug_postponed ON bug (product, deleted) WHERE resolution = 'postponed';

-- The totals of lists, kept up by the triggers below.

CREATE TABLE total (
    list    TEXT NOT NULL,
    parent  INTEGER NOT NULL,  -- the project, execution or product whose list it is; 0 for the list of all
    records INTEGER NOT NULL,
    PRIMARY KEY (list, parent)
) STRICT, WITHOUT ROWID;

INSERT INTO total SELECT 'products', 0, count(*) FROM product WHERE deleted = 0;
INSERT INTO total SELECT 'releases', project, count(*) FROM release WHERE deleted = 0 AND project IS NOT NULL GROUP BY project;
INSERT INTO total SELECT 'tasks', execution, count(*) FROM task WHERE deleted = 0 GROUP BY execution;
INSERT INTO total SELECT 'testcases', product, count(*) FROM testcase WHERE deleted = 0 GROUP BY product;

CREATE TRIGGER product_added AFTER INSERT ON product WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('products', 0, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER product_deleted AFTER UPDATE OF deleted ON product BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'products' AND parent = 0;
END;

CREATE TRIGGER release_added AFTER INSERT ON release WHEN NOT NEW.deleted AND NEW.project IS NOT NULL BEGIN
    INSERT INTO total VALUES ('releases', NEW.project, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER release_deleted AFTER UPDATE OF deleted ON release BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'releases' AND parent = NEW.project;
END;

CREATE TRIGGER task_added AFTER INSERT ON task WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('tasks', NEW.execution, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER task_deleted AFTER UPDATE OF deleted ON task BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'tasks' AND parent = NEW.execution;
END;

CREATE TRIGGER testcase_added AFTER INSERT ON testcase WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('testcases', NEW.product, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER testcase_deleted AFTER UPDATE OF deleted ON testcase BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'testcases' AND parent = NEW.product;
END;

PRAGMA user_version = 2;

-- === Version 3: no views; the statements name every column =======================================

-- Files that were made as versions 1 and 2 have a view of each record.

DROP VIEW IF EXISTS user_record;
DROP VIEW IF EXISTS project_record;
DROP VIEW IF EXISTS product_record;
DROP VIEW IF EXISTS release_record;
DROP VIEW IF EXISTS bug_record;
DROP VIEW IF EXISTS task_record;
DROP VIEW IF EXISTS testcase_record;

PRAGMA user_version = 3;

-- === Version 4: departments, stories, plans, builds, test tasks, efforts and results ===============

-- --- Departments and what users have beyond their account ------------------------------------------

CREATE TABLE department (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    parent  INTEGER REFERENCES department,
    "order" INTEGER,  -- 10 after the last of the same parent unless given
    manager TEXT REFERENCES user (account)
) STRICT;

CREATE INDEX department_of_parent ON department (parent);

CREATE TRIGGER department_ordered AFTER INSERT ON department WHEN NEW."order" IS NULL BEGIN
    UPDATE department SET "order" = 10 + (
        SELECT coalesce(max("order"), 0) FROM department WHERE parent IS NEW.parent AND id <> NEW.id)
    WHERE id = NEW.id;
END;

-- Made anew, with columns that it lacked and a `deleted` that may be 1. Foreign keys are off during an upgrade.
CREATE TABLE user_4 (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    account  TEXT NOT NULL UNIQUE CHECK (length(account) BETWEEN 1 AND 30),
    realname TEXT NOT NULL,
    avatar   TEXT NOT NULL DEFAULT '',
    role     TEXT NOT NULL DEFAULT '',
    email    TEXT NOT NULL DEFAULT '',
    admin    INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
    password TEXT,  -- a salted scrypt hash; NULL: nobody can log in as this user
    deleted  INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    dept     INTEGER REFERENCES department,
    type     TEXT NOT NULL DEFAULT 'inside' CHECK (type IN ('inside', 'outside')),
    gender   TEXT NOT NULL DEFAULT 'f' CHECK (gender IN ('f', 'm')),
    birthday TEXT,
    "join"   TEXT,
    commiter TEXT NOT NULL DEFAULT '',
    skype    TEXT NOT NULL DEFAULT '',
    qq       TEXT NOT NULL DEFAULT '',
    mobile   TEXT NOT NULL DEFAULT '',
    phone    TEXT NOT NULL DEFAULT '',
    weixin   TEXT NOT NULL DEFAULT '',
    dingding TEXT NOT NULL DEFAULT '',
    slack    TEXT NOT NULL DEFAULT '',
    whatsapp TEXT NOT NULL DEFAULT '',
    address  TEXT NOT NULL DEFAULT ''
) STRICT;

INSERT INTO user_4 (id, account, realname, avatar, role, email, admin, password)
SELECT id, account, realname, avatar, role, email, admin, password FROM user;
DROP TABLE user;
ALTER TABLE user_4 RENAME TO user;

CREATE INDEX user_of_department ON user (dept) WHERE dept IS NOT NULL;

-- --- Stories and requirements -----------------------------------------------------------------------

CREATE TABLE story (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    parent         INTEGER REFERENCES story,
    product        INTEGER NOT NULL REFERENCES product,
    branch         INTEGER NOT NULL DEFAULT 0,
    module         INTEGER NOT NULL DEFAULT 0,
    source         TEXT NOT NULL DEFAULT '',
    sourceNote     TEXT NOT NULL DEFAULT '',
    fromBug        INTEGER NOT NULL DEFAULT 0,
    title          TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    keywords       TEXT NOT NULL DEFAULT '',
    type           TEXT NOT NULL DEFAULT 'story' CHECK (type IN ('story', 'requirement')),
    category       TEXT NOT NULL DEFAULT '',
    pri            INTEGER NOT NULL DEFAULT 3,
    estimate       REAL NOT NULL DEFAULT 0 CHECK (estimate >= 0),  -- of one that has children: the sum of theirs
    status         TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('draft', 'active', 'changed', 'closed')),
    color          TEXT NOT NULL DEFAULT '',
    mailto         TEXT NOT NULL DEFAULT ',' CHECK (mailto LIKE ',%' AND mailto LIKE '%,'),
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    assignedTo     TEXT REFERENCES user (account),
    assignedDate   TEXT,
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    reviewedBy     TEXT REFERENCES user (account),
    reviewedDate   TEXT,
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    closedReason   TEXT NOT NULL DEFAULT '' CHECK (closedReason IN ('', 'done', 'subdivided', 'duplicate', 'postponed',
                   'willnotdo', 'cancel', 'bydesign')),
    activatedDate  TEXT,
    duplicateStory INTEGER REFERENCES story,
    version        INTEGER NOT NULL DEFAULT 1,
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    spec           TEXT NOT NULL DEFAULT '',
    verify         TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX story_of_product ON story (product, type, deleted);
CREATE INDEX story_in_status ON story (product, type, deleted, status);
CREATE INDEX story_unclosed ON story (product, type, deleted) WHERE status <> 'closed';
CREATE INDEX story_of_parent ON story (parent, deleted) WHERE parent IS NOT NULL;

-- What each version of a story said; the last one is that of the story itself.
CREATE TABLE story_version (
    story   INTEGER NOT NULL REFERENCES story,
    version INTEGER NOT NULL CHECK (version > 0),
    title   TEXT NOT NULL,
    spec    TEXT NOT NULL DEFAULT '',
    verify  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (story, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER story_written AFTER INSERT ON story BEGIN
    INSERT INTO story_version VALUES (NEW.id, NEW.version, NEW.title, NEW.spec, NEW.verify);
END;

CREATE TRIGGER story_rewritten AFTER UPDATE OF version, title, spec, verify ON story BEGIN
    DELETE FROM story_version WHERE story = NEW.id AND version >= NEW.version;
    INSERT INTO story_version VALUES (NEW.id, NEW.version, NEW.title, NEW.spec, NEW.verify);
END;

CREATE TABLE story_reviewer (
    story   INTEGER NOT NULL REFERENCES story,
    account TEXT NOT NULL REFERENCES user (account),
    result  TEXT NOT NULL DEFAULT '' CHECK (result IN ('', 'pass', 'reject', 'clarify', 'revert')),
    PRIMARY KEY (story, account)
) STRICT;  -- the rows are in the order of the votes

CREATE TABLE project_story (  -- of an execution, and of its project
    project INTEGER NOT NULL REFERENCES project,
    story   INTEGER NOT NULL REFERENCES story,
    PRIMARY KEY (project, story)
) STRICT, WITHOUT ROWID;

CREATE INDEX project_of_story ON project_story (story);

-- How many stories of a product that are not deleted have each type and status.
CREATE TABLE story_count (
    product INTEGER NOT NULL REFERENCES product,
    type    TEXT NOT NULL,
    status  TEXT NOT NULL,
    stories INTEGER NOT NULL,
    PRIMARY KEY (product, type, status)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER story_added AFTER INSERT ON story WHEN NOT NEW.deleted BEGIN
    INSERT INTO story_count VALUES (NEW.product, NEW.type, NEW.status, 1)
    ON CONFLICT DO UPDATE SET stories = stories + 1;
END;

CREATE TRIGGER story_moved AFTER UPDATE OF product, type, status, deleted ON story BEGIN
    UPDATE story_count SET stories = stories - NOT OLD.deleted
    WHERE product = OLD.product AND type = OLD.type AND status = OLD.status;
    INSERT INTO story_count VALUES (NEW.product, NEW.type, NEW.status, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET stories = stories + excluded.stories;
    UPDATE total SET records = records - NOT OLD.deleted
    WHERE list = 'stories ' || OLD.status AND parent IN (SELECT project FROM project_story WHERE story = NEW.id);
    INSERT INTO total SELECT 'stories ' || NEW.status, project, NOT NEW.deleted FROM project_story WHERE story = NEW.id
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

CREATE TRIGGER project_story_added AFTER INSERT ON project_story BEGIN
    INSERT INTO total SELECT 'stories ' || status, NEW.project, 1 FROM story WHERE id = NEW.story AND NOT deleted
    ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER story_estimated AFTER UPDATE OF estimate, parent, deleted ON story BEGIN
    UPDATE story SET estimate = (SELECT round(sum(estimate), 9) FROM story AS child WHERE child.parent = story.id AND NOT child.deleted)
    WHERE id IN (OLD.parent, NEW.parent)
      AND EXISTS (SELECT 1 FROM story AS child WHERE child.parent = story.id AND NOT child.deleted);
END;

CREATE TRIGGER story_estimated_first AFTER INSERT ON story WHEN NEW.parent IS NOT NULL BEGIN
    UPDATE story SET estimate = (SELECT round(sum(estimate), 9) FROM story AS child WHERE child.parent = story.id AND NOT child.deleted)
    WHERE id = NEW.parent AND NOT NEW.deleted;
END;

-- The stories that releases name in their text; text that is no list of numbers names none.
CREATE TABLE release_story (
    story   INTEGER NOT NULL,
    release INTEGER NOT NULL REFERENCES release,
    PRIMARY KEY (story, release)
) STRICT, WITHOUT ROWID;

CREATE INDEX story_of_release ON release_story (release);

CREATE VIEW named_story AS SELECT value AS story, release.id AS release FROM release,
    json_each(iif(json_valid('[' || trim(stories, ', ') || ']'), '[' || trim(stories, ', ') || ']', '[]')) AS named
WHERE typeof(value) = 'integer' AND named.type = 'integer' AND NOT release.deleted;

INSERT OR IGNORE INTO release_story SELECT story, release FROM named_story;

CREATE TRIGGER release_stories_named AFTER INSERT ON release WHEN NEW.stories <> '' BEGIN
    INSERT OR IGNORE INTO release_story SELECT story, release FROM named_story WHERE release = NEW.id;
END;

CREATE TRIGGER release_stories_renamed AFTER UPDATE OF stories, deleted ON release BEGIN
    DELETE FROM release_story WHERE release = NEW.id;
    INSERT OR IGNORE INTO release_story SELECT story, release FROM named_story WHERE release = NEW.id;
END;

CREATE INDEX story_opened_by ON story (product, type, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX story_assigned ON story (product, type, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX story_closed_by ON story (product, type, deleted, closedBy) WHERE closedBy IS NOT NULL;
CREATE INDEX story_asked ON story_reviewer (account, result);
CREATE INDEX task_of_story ON task (story, deleted) WHERE story <> 0;
CREATE INDEX bug_of_case ON bug ("case", product, deleted) WHERE "case" <> 0;
CREATE INDEX bug_with_story ON bug (product, deleted) WHERE story <> 0;
CREATE INDEX bug_of_story ON bug (story, deleted) WHERE story <> 0;

-- --- Plans ------------------------------------------------------------------------------------------

CREATE TABLE plan (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    product      INTEGER NOT NULL REFERENCES product,
    branch       INTEGER NOT NULL DEFAULT 0,
    parent       INTEGER REFERENCES plan,
    title        TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    status       TEXT NOT NULL DEFAULT 'wait' CHECK (status IN ('wait', 'doing', 'done', 'closed')),
    desc         TEXT NOT NULL DEFAULT '',
    begin        TEXT NOT NULL,
    end          TEXT NOT NULL,
    closedReason TEXT NOT NULL DEFAULT '',
    deleted      INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;

CREATE INDEX plan_of_product ON plan (product, deleted, begin);
CREATE INDEX plan_of_parent ON plan (parent, deleted) WHERE parent IS NOT NULL;

CREATE TABLE plan_story (
    plan  INTEGER NOT NULL REFERENCES plan,
    story INTEGER NOT NULL REFERENCES story,
    PRIMARY KEY (plan, story)
) STRICT, WITHOUT ROWID;

CREATE INDEX plan_of_story ON plan_story (story);
CREATE INDEX bug_of_plan ON bug (plan, deleted) WHERE plan <> 0;

-- What a list of plans counts, of records that are not deleted: stories, their estimates and bugs. A bug may name a plan
-- that does not exist, or one of another product: that list does not count it.
CREATE TABLE plan_count (
    plan    INTEGER NOT NULL,
    product INTEGER NOT NULL,  -- of the stories and bugs
    stories INTEGER NOT NULL DEFAULT 0,
    hour    REAL NOT NULL DEFAULT 0,
    bugs    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (plan, product)
) STRICT, WITHOUT ROWID;

INSERT INTO plan_count (plan, product, bugs)
SELECT plan, product, count(*) FROM bug WHERE plan <> 0 AND NOT deleted GROUP BY plan, product;

-- How many plans of a product end on each day.
CREATE TABLE plans_ending (
    product INTEGER NOT NULL REFERENCES product,
    end     TEXT NOT NULL,
    plans   INTEGER NOT NULL,
    PRIMARY KEY (product, end)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER plan_added AFTER INSERT ON plan WHEN NOT NEW.deleted BEGIN
    INSERT INTO plans_ending VALUES (NEW.product, NEW.end, 1) ON CONFLICT DO UPDATE SET plans = plans + 1;
    INSERT INTO total VALUES ('plans', NEW.product, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER plan_moved AFTER UPDATE OF end, deleted ON plan BEGIN
    UPDATE plans_ending SET plans = plans - NOT OLD.deleted WHERE product = OLD.product AND end = OLD.end;
    INSERT INTO plans_ending VALUES (NEW.product, NEW.end, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET plans = plans + excluded.plans;
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'plans' AND parent = NEW.product;
END;

CREATE TRIGGER plan_story_added AFTER INSERT ON plan_story BEGIN
    INSERT INTO plan_count (plan, product, stories, hour)
    SELECT NEW.plan, product, 1, estimate FROM story WHERE id = NEW.story AND NOT deleted
    ON CONFLICT DO UPDATE SET stories = stories + 1, hour = round(hour + excluded.hour, 6);
END;

CREATE TRIGGER plan_story_removed AFTER DELETE ON plan_story BEGIN
    UPDATE plan_count SET stories = stories - 1, hour = round(hour - story.estimate, 6) FROM story
    WHERE plan = OLD.plan AND story.id = OLD.story AND NOT story.deleted AND plan_count.product = story.product;
END;

CREATE TRIGGER plan_story_changed AFTER UPDATE OF estimate, deleted ON story BEGIN
    UPDATE plan_count SET stories = stories + OLD.deleted - NEW.deleted,
        hour = round(hour - OLD.estimate * (1 - OLD.deleted) + NEW.estimate * (1 - NEW.deleted), 6)
    WHERE plan IN (SELECT plan FROM plan_story WHERE story = NEW.id) AND product = NEW.product;
END;

CREATE TRIGGER bug_planned AFTER INSERT ON bug WHEN NEW.plan <> 0 AND NOT NEW.deleted BEGIN
    INSERT INTO plan_count (plan, product, bugs) VALUES (NEW.plan, NEW.product, 1) ON CONFLICT DO UPDATE SET bugs = bugs + 1;
END;

CREATE TRIGGER bug_replanned AFTER UPDATE OF plan, product, deleted ON bug WHEN OLD.plan <> 0 OR NEW.plan <> 0 BEGIN
    UPDATE plan_count SET bugs = bugs - (1 - OLD.deleted) WHERE plan = OLD.plan AND product = OLD.product;
    INSERT INTO plan_count (plan, product, bugs) SELECT NEW.plan, NEW.product, 1 - NEW.deleted WHERE NEW.plan <> 0
    ON CONFLICT DO UPDATE SET bugs = bugs + excluded.bugs;
END;

-- --- Builds -----------------------------------------------------------------------------------------

CREATE TABLE build (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    project   INTEGER NOT NULL REFERENCES project,
    product   INTEGER NOT NULL REFERENCES product,
    branch    INTEGER NOT NULL DEFAULT 0,
    execution INTEGER NOT NULL REFERENCES project,
    name      TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    scmPath   TEXT NOT NULL DEFAULT '',
    filePath  TEXT NOT NULL DEFAULT '',
    date      TEXT NOT NULL,
    builder   TEXT REFERENCES user (account),
    desc      TEXT NOT NULL DEFAULT '',
    deleted   INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
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
    bug   INTEGER NOT NULL REFERENCES bug,
    PRIMARY KEY (build, bug)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER build_added AFTER INSERT ON build WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('builds', NEW.project, 1), ('builds of execution', NEW.execution, 1)
    ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER build_moved AFTER UPDATE OF project, execution, deleted ON build BEGIN
    UPDATE total SET records = records - NOT OLD.deleted
    WHERE (list, parent) IN (VALUES ('builds', OLD.project), ('builds of execution', OLD.execution));
    INSERT INTO total VALUES ('builds', NEW.project, NOT NEW.deleted), ('builds of execution', NEW.execution, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

-- --- Test tasks -------------------------------------------------------------------------------------

CREATE TABLE testtask (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    project          INTEGER NOT NULL REFERENCES project,
    product          INTEGER NOT NULL REFERENCES product,
    name             TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    execution        INTEGER NOT NULL REFERENCES project,
    build            INTEGER REFERENCES build,  -- NULL: the trunk
    type             TEXT NOT NULL DEFAULT '',
    owner            TEXT REFERENCES user (account),
    pri              INTEGER NOT NULL DEFAULT 3,
    begin            TEXT NOT NULL,
    end              TEXT NOT NULL,
    realFinishedDate TEXT,
    mailto           TEXT NOT NULL DEFAULT ',' CHECK (mailto LIKE ',%' AND mailto LIKE '%,'),
    desc             TEXT NOT NULL DEFAULT '',
    report           TEXT NOT NULL DEFAULT '',
    status           TEXT NOT NULL DEFAULT 'wait' CHECK (status IN ('wait', 'doing', 'done', 'blocked')),
    deleted          INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;

CREATE INDEX testtask_of_product ON testtask (product, deleted);
CREATE INDEX testtask_of_project ON testtask (project, deleted);
CREATE INDEX testtask_of_execution ON testtask (execution);

CREATE TABLE testtask_case (
    testtask INTEGER NOT NULL REFERENCES testtask,
    "case"   INTEGER NOT NULL REFERENCES testcase,
    PRIMARY KEY (testtask, "case")
) STRICT, WITHOUT ROWID;

CREATE TRIGGER testtask_added AFTER INSERT ON testtask WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('testtasks', NEW.project, 1), ('testtasks of product', NEW.product, 1)
    ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER testtask_moved AFTER UPDATE OF project, product, deleted ON testtask BEGIN
    UPDATE total SET records = records - NOT OLD.deleted
    WHERE (list, parent) IN (VALUES ('testtasks', OLD.project), ('testtasks of product', OLD.product));
    INSERT INTO total VALUES ('testtasks', NEW.project, NOT NEW.deleted), ('testtasks of product', NEW.product, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

-- --- Efforts of tasks, results of test cases --------------------------------------------------------

CREATE TABLE effort (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    task     INTEGER NOT NULL REFERENCES task,
    date     TEXT NOT NULL,
    left     REAL NOT NULL DEFAULT 0 CHECK (left >= 0),
    consumed REAL NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    account  TEXT REFERENCES user (account),
    work     TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX effort_of_task ON effort (task, date);

CREATE TABLE result (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    testtask    INTEGER REFERENCES testtask,
    "case"      INTEGER NOT NULL REFERENCES testcase,
    version     INTEGER NOT NULL DEFAULT 1,
    caseResult  TEXT NOT NULL DEFAULT 'pass' CHECK (caseResult IN ('pass', 'fail', 'blocked', 'n/a')),
    stepResults TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(stepResults)),
    lastRunner  TEXT REFERENCES user (account),
    date        TEXT
) STRICT;

CREATE INDEX result_of_case ON result ("case");

-- --- Lists of bugs and test cases by project and execution ------------------------------------------

CREATE INDEX bug_resolved_by ON bug (product, deleted, resolvedBy) WHERE resolvedBy IS NOT NULL;
CREATE INDEX bug_closed_by ON bug (product, deleted, closedBy) WHERE closedBy IS NOT NULL;
CREATE INDEX bug_of_project ON bug (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX bug_of_execution ON bug (execution, deleted) WHERE execution IS NOT NULL;
CREATE INDEX testcase_of_project ON testcase (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX testcase_of_execution ON testcase (execution, deleted) WHERE execution IS NOT NULL;
CREATE INDEX product_of_program ON product (program, deleted) WHERE program IS NOT NULL;
CREATE INDEX project_of_parent ON project (parent, deleted) WHERE parent IS NOT NULL;
CREATE INDEX project_of_product ON project_product (product);

INSERT INTO total SELECT 'bugs', project, count(*) FROM bug WHERE NOT deleted AND project IS NOT NULL GROUP BY project;
INSERT INTO total SELECT 'bugs of execution', execution, count(*) FROM bug
WHERE NOT deleted AND execution IS NOT NULL GROUP BY execution;

CREATE TRIGGER bug_placed AFTER INSERT ON bug WHEN NOT NEW.deleted AND coalesce(NEW.project, NEW.execution) IS NOT NULL BEGIN
    INSERT INTO total SELECT 'bugs', NEW.project, 1 WHERE NEW.project IS NOT NULL
    ON CONFLICT DO UPDATE SET records = records + 1;
    INSERT INTO total SELECT 'bugs of execution', NEW.execution, 1 WHERE NEW.execution IS NOT NULL
    ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER bug_replaced AFTER UPDATE OF project, execution, deleted ON bug BEGIN
    UPDATE total SET records = records - NOT OLD.deleted
    WHERE (list, parent) IN (VALUES ('bugs', OLD.project), ('bugs of execution', OLD.execution));
    INSERT INTO total SELECT 'bugs', NEW.project, NOT NEW.deleted WHERE NEW.project IS NOT NULL
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
    INSERT INTO total SELECT 'bugs of execution', NEW.execution, NOT NEW.deleted WHERE NEW.execution IS NOT NULL
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

-- Since this version a task may move to another execution, a bug and a test case to another product: what the record
-- was is taken off where it was, what it is now is added where it is.

DROP TRIGGER task_deleted;
CREATE TRIGGER task_moved AFTER UPDATE OF execution, deleted ON task BEGIN
    UPDATE total SET records = records - NOT OLD.deleted WHERE list = 'tasks' AND parent = OLD.execution;
    INSERT INTO total VALUES ('tasks', NEW.execution, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

DROP TRIGGER testcase_deleted;
CREATE TRIGGER testcase_moved AFTER UPDATE OF product, deleted ON testcase BEGIN
    UPDATE total SET records = records - NOT OLD.deleted WHERE list = 'testcases' AND parent = OLD.product;
    INSERT INTO total VALUES ('testcases', NEW.product, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

DROP TRIGGER bug_moved;
CREATE TRIGGER bug_changed AFTER UPDATE OF product, status, resolution, assignedTo, deleted ON bug BEGIN
    UPDATE product_count SET
        bugs         = bugs - 1,
        unResolved   = unResolved - (OLD.status = 'active'),
        closedBugs   = closedBugs - (OLD.status = 'closed'),
        fixedBugs    = fixedBugs - (OLD.status = 'closed' AND OLD.resolution = 'fixed'),
        assignToNull = assignToNull - (OLD.assignedTo IS NULL)
    WHERE product = OLD.product AND NOT OLD.deleted;
    UPDATE product_count SET
        bugs         = bugs + 1,
        unResolved   = unResolved + (NEW.status = 'active'),
        closedBugs   = closedBugs + (NEW.status = 'closed'),
        fixedBugs    = fixedBugs + (NEW.status = 'closed' AND NEW.resolution = 'fixed'),
        assignToNull = assignToNull + (NEW.assignedTo IS NULL)
    WHERE product = NEW.product AND NOT NEW.deleted;
    UPDATE bugs_opened SET bugs = bugs - NOT OLD.deleted
    WHERE product = OLD.product AND quarter = coalesce(strftime('%s', OLD.openedDate) / 900, 0);
    INSERT INTO bugs_opened VALUES (NEW.product, coalesce(strftime('%s', NEW.openedDate) / 900, 0), NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET bugs = bugs + excluded.bugs;
END;

-- An item of a test case's steps belongs to the last group before it.
CREATE TRIGGER step_grouped AFTER INSERT ON step WHEN NEW.type = 'item' AND NEW.parent = 0 BEGIN
    UPDATE step SET parent = coalesce(
        (SELECT max(id) FROM step WHERE "case" = NEW."case" AND type = 'group' AND id < NEW.id), 0)
    WHERE id = NEW.id;
END;

PRAGMA user_version = 4;

-- === Version 5: what the page for browsers counts, and the age of the demo ========================

-- The counterpart of bugs_opened: how many bugs of a product were resolved in each quarter of an hour.
CREATE TABLE bugs_resolved (
    product INTEGER NOT NULL REFERENCES product,
    quarter INTEGER NOT NULL,
    bugs    INTEGER NOT NULL,
    PRIMARY KEY (product, quarter)
) STRICT, WITHOUT ROWID;

INSERT INTO bugs_resolved SELECT product, strftime('%s', resolvedDate) / 900, count(*)
FROM bug WHERE NOT deleted AND resolvedDate IS NOT NULL GROUP BY 1, 2;

CREATE TRIGGER bug_resolved AFTER INSERT ON bug WHEN NOT NEW.deleted AND NEW.resolvedDate IS NOT NULL BEGIN
    INSERT INTO bugs_resolved VALUES (NEW.product, strftime('%s', NEW.resolvedDate) / 900, 1)
    ON CONFLICT DO UPDATE SET bugs = bugs + 1;
END;

CREATE TRIGGER bug_reresolved AFTER UPDATE OF product, resolvedDate, deleted ON bug
WHEN coalesce(OLD.resolvedDate, NEW.resolvedDate) IS NOT NULL BEGIN
    UPDATE bugs_resolved SET bugs = bugs - NOT OLD.deleted
    WHERE product = OLD.product AND quarter = strftime('%s', OLD.resolvedDate) / 900;
    INSERT INTO bugs_resolved SELECT NEW.product, strftime('%s', NEW.resolvedDate) / 900, NOT NEW.deleted
    WHERE NEW.resolvedDate IS NOT NULL
    ON CONFLICT DO UPDATE SET bugs = bugs + excluded.bugs;
END;

-- The bugs of all products by the quarter of an hour in which they were opened and resolved: for a sum over everything.
CREATE TABLE bugs_dated (
    quarter  INTEGER PRIMARY KEY,
    opened   INTEGER NOT NULL DEFAULT 0,
    resolved INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO bugs_dated SELECT quarter, sum(opened), sum(resolved) FROM (
    SELECT quarter, bugs AS opened, 0 AS resolved FROM bugs_opened UNION ALL SELECT quarter, 0, bugs FROM bugs_resolved
) GROUP BY quarter;

CREATE TRIGGER bugs_opened_added AFTER INSERT ON bugs_opened BEGIN
    INSERT INTO bugs_dated (quarter, opened) VALUES (NEW.quarter, NEW.bugs)
    ON CONFLICT DO UPDATE SET opened = opened + excluded.opened;
END;

CREATE TRIGGER bugs_opened_changed AFTER UPDATE OF bugs ON bugs_opened BEGIN
    UPDATE bugs_dated SET opened = opened + NEW.bugs - OLD.bugs WHERE quarter = NEW.quarter;
END;

CREATE TRIGGER bugs_resolved_added AFTER INSERT ON bugs_resolved BEGIN
    INSERT INTO bugs_dated (quarter, resolved) VALUES (NEW.quarter, NEW.bugs)
    ON CONFLICT DO UPDATE SET resolved = resolved + excluded.resolved;
END;

CREATE TRIGGER bugs_resolved_changed AFTER UPDATE OF bugs ON bugs_resolved BEGIN
    UPDATE bugs_dated SET resolved = resolved + NEW.bugs - OLD.bugs WHERE quarter = NEW.quarter;
END;

CREATE INDEX task_in_state ON task (execution, deleted, status, consumed, "left");
CREATE INDEX release_dated ON release (date) WHERE NOT deleted;
CREATE INDEX execution_running ON project (type, deleted, end) WHERE status = 'doing';

-- The Monday around which the records of --demo are dated; no row if the records are not a demo's.
CREATE TABLE demo (
    monday TEXT NOT NULL
) STRICT;

PRAGMA user_version = 5;

-- === Version 6: sums of hours that can be counted again; what somebody sees of a product's releases ==

-- The hours of a plan in whole millionths: sums of fractions would depend on the order in which they were added.
-- An estimate counts up to a hundred million hours, so that the sum of any plan fits in 64 bits.

DROP TRIGGER plan_story_added;
DROP TRIGGER plan_story_removed;
DROP TRIGGER plan_story_changed;
DROP TABLE plan_count;

CREATE TABLE plan_count (
    plan    INTEGER NOT NULL,
    product INTEGER NOT NULL,  -- of the stories and bugs
    stories INTEGER NOT NULL DEFAULT 0,
    hour    INTEGER NOT NULL DEFAULT 0,  -- in millionths
    bugs    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (plan, product)
) STRICT, WITHOUT ROWID;

CREATE VIEW story_hour AS
SELECT id AS story, product, deleted, CAST(round(min(estimate, 1e8) * 1e6) AS INTEGER) AS hour FROM story;

INSERT INTO plan_count SELECT plan, product, sum(stories), sum(hour), sum(bugs) FROM (
    SELECT plan, product, 1 AS stories, hour, 0 AS bugs FROM plan_story JOIN story_hour USING (story) WHERE NOT deleted
    UNION ALL SELECT plan, product, 0, 0, 1 FROM bug WHERE plan <> 0 AND NOT deleted) GROUP BY plan, product;

CREATE TRIGGER plan_story_added AFTER INSERT ON plan_story BEGIN
    INSERT INTO plan_count (plan, product, stories, hour)
    SELECT NEW.plan, product, 1, hour FROM story_hour WHERE story = NEW.story AND NOT deleted
    ON CONFLICT DO UPDATE SET stories = stories + 1, hour = hour + excluded.hour;
END;

CREATE TRIGGER plan_story_removed AFTER DELETE ON plan_story BEGIN
    UPDATE plan_count SET stories = stories - 1, hour = plan_count.hour - story_hour.hour FROM story_hour
    WHERE plan = OLD.plan AND story = OLD.story AND NOT deleted AND plan_count.product = story_hour.product;
END;

-- What the story was is taken off, what it now is is added.
CREATE TRIGGER plan_story_changed AFTER UPDATE OF estimate, deleted ON story BEGIN
    UPDATE plan_count SET
        stories = stories + OLD.deleted - NEW.deleted,
        hour = hour - CAST(round(min(OLD.estimate, 1e8) * 1e6) AS INTEGER) * (1 - OLD.deleted)
                    + CAST(round(min(NEW.estimate, 1e8) * 1e6) AS INTEGER) * (1 - NEW.deleted)
    WHERE plan IN (SELECT plan FROM plan_story WHERE story = NEW.id) AND product = NEW.product;
END;

-- Counted project by project, because who sees a project sees all of its releases of a product.
CREATE INDEX release_in_project ON release (product, project) WHERE NOT deleted;

PRAGMA user_version = 6;
