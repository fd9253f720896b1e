-- The database of pmservice. Columns have the names that the interface gives the fields; triggers keep every count.
--
-- A link that is not set is NULL; a person is an account; a moment is UTC text, YYYY-MM-DDThh:mm:ssZ; a day is
-- YYYY-MM-DD; NULL is "unset". A column of ids without REFERENCES, such as bug.story, may hold any number, and 0 for
-- none: clients name records there that need not exist. Defaults that never depend on the request stand here and
-- nowhere else. A record with `deleted` is never removed: it leaves lists and takes no more changes; by its id it is
-- still shown.
--
-- Why triggers count: a list and its total must not cost more as the tables grow. Whether a record is created,
-- changed, moved or deleted, triggers subtract what it counted before and add what it counts now. `pmservice check`
-- counts everything again.
--
-- A new database runs all parts of this file, an older one those that it lacks, in one transaction. What has been
-- released never changes: a later version is a further part, which ends at its own `user_version`.

-- === Version 7 ===================================================================================
-- The first part: a file with an earlier number is refused.

PRAGMA application_id = 1886221174;  -- "pmsv": no other program's file is taken for ours

-- --- Users, their tokens and departments ---------------------------------------------------------

CREATE TABLE user (
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
    commiter TEXT NOT NULL DEFAULT '',  -- spelled as in the interface
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
CREATE INDEX user_of_department ON user (dept) WHERE dept IS NOT NULL;

CREATE TABLE token (
    hash    TEXT PRIMARY KEY,  -- SHA-256 of the token, which itself is kept nowhere
    account TEXT NOT NULL REFERENCES user (account),
    used    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE department (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    parent  INTEGER REFERENCES department,
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
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER REFERENCES project,  -- set for an execution only: the one that it belongs to
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
CREATE INDEX project_of_parent ON project (parent, deleted) WHERE parent IS NOT NULL;
CREATE INDEX execution_of_project ON project (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX execution_running ON project (type, deleted, end) WHERE status = 'doing';

-- The default of `order` depends on the id, which is known only now.
CREATE TRIGGER project_numbered AFTER INSERT ON project WHEN NEW."order" IS NULL BEGIN
    UPDATE project SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

-- --- The totals of lists ------------------------------------------------------------------------

CREATE TABLE total (
    list    TEXT NOT NULL,
    parent  INTEGER NOT NULL,  -- the project, execution or product whose list it is; 0 for the list of all
    records INTEGER NOT NULL,
    PRIMARY KEY (list, parent)
) STRICT, WITHOUT ROWID;

-- Only inserted into: SQLite has no procedures, so this stands for "add `records`, maybe less than 0, to the total of
-- `list` of `parent`". Without a parent nothing is added: the record is in no such list.
CREATE VIEW counted AS SELECT * FROM total;

CREATE TRIGGER total_changed INSTEAD OF INSERT ON counted WHEN NEW.parent IS NOT NULL AND NEW.records <> 0 BEGIN
    INSERT INTO total VALUES (NEW.list, NEW.parent, NEW.records)
    ON CONFLICT DO UPDATE SET records = records + excluded.records;
END;

-- --- Products ------------------------------------------------------------------------------------

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
CREATE INDEX product_of_program ON product (program, deleted) WHERE program IS NOT NULL;

CREATE TABLE project_product (
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    PRIMARY KEY (project, product)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_of_product ON project_product (product);

-- As with projects, the default of `order` depends on the id.
CREATE TRIGGER product_numbered AFTER INSERT ON product WHEN NEW."order" IS NULL BEGIN
    UPDATE product SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

-- What GET /products counts. A record counts while it is not deleted.
CREATE TABLE product_count (
    product      INTEGER PRIMARY KEY REFERENCES product,
    releases     INTEGER NOT NULL DEFAULT 0,
    bugs         INTEGER NOT NULL DEFAULT 0,
    unResolved   INTEGER NOT NULL DEFAULT 0,
    closedBugs   INTEGER NOT NULL DEFAULT 0,
    fixedBugs    INTEGER NOT NULL DEFAULT 0,
    assignToNull INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER product_added AFTER INSERT ON product BEGIN
    INSERT INTO product_count (product) VALUES (NEW.id) ON CONFLICT DO NOTHING;  -- a bug may come first
    INSERT INTO counted VALUES ('products', 0, NOT NEW.deleted);
END;

CREATE TRIGGER product_deleted AFTER UPDATE OF deleted ON product BEGIN
    INSERT INTO counted VALUES ('products', 0, OLD.deleted - NEW.deleted);
END;

-- --- Stories and requirements --------------------------------------------------------------------

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
    verify         TEXT NOT NULL DEFAULT '',
    -- The estimate in millionths of an hour: a sum of floats depends on the order in which they are added.
    -- More than a hundred million hours count as that, so that the sum of any plan fits in 64 bits.
    hour           INTEGER AS (CAST(round(min(estimate, 1e8) * 1e6) AS INTEGER))
) STRICT;
CREATE INDEX story_of_product ON story (product, type, deleted);
CREATE INDEX story_in_status ON story (product, type, deleted, status);
CREATE INDEX story_unclosed ON story (product, type, deleted) WHERE status <> 'closed';
CREATE INDEX story_of_parent ON story (parent, deleted) WHERE parent IS NOT NULL;
CREATE INDEX story_opened_by ON story (product, type, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX story_assigned ON story (product, type, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX story_closed_by ON story (product, type, deleted, closedBy) WHERE closedBy IS NOT NULL;

-- The words of a story in each of its versions; the highest version has those of the story itself.
CREATE TABLE story_version (
    story   INTEGER NOT NULL REFERENCES story,
    version INTEGER NOT NULL CHECK (version > 0),
    title   TEXT NOT NULL,
    spec    TEXT NOT NULL DEFAULT '',
    verify  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (story, version)
) STRICT, WITHOUT ROWID;

-- A new story keeps its words as its present version; the next trigger does so whenever they change.
CREATE TRIGGER story_written AFTER INSERT ON story BEGIN
    INSERT INTO story_version VALUES (NEW.id, NEW.version, NEW.title, NEW.spec, NEW.verify);
END;

-- A review that decides to revert lowers the version; the words of the higher versions are deleted.
CREATE TRIGGER story_rewritten AFTER UPDATE OF version, title, spec, verify ON story BEGIN
    DELETE FROM story_version WHERE story = NEW.id AND version >= NEW.version;
    INSERT INTO story_version VALUES (NEW.id, NEW.version, NEW.title, NEW.spec, NEW.verify);
END;

CREATE TABLE story_reviewer (
    story   INTEGER NOT NULL REFERENCES story,
    account TEXT NOT NULL REFERENCES user (account),
    result  TEXT NOT NULL DEFAULT '' CHECK (result IN ('', 'pass', 'reject', 'clarify', 'revert')),
    PRIMARY KEY (story, account)
) STRICT;  -- the rowids are in the order of the votes, see Store.vote
CREATE INDEX story_asked ON story_reviewer (account, result);

-- The stories of an execution; each is linked to the execution's project, too.
CREATE TABLE project_story (
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

-- Only inserted into, like `counted`: a story, with the change 1 when it begins to count and -1 when it ends. It counts
-- in its product by type and status, in the projects and executions that it is linked to, and in its plans. What the
-- view selects is never read: it only names the columns.
CREATE VIEW counted_story AS SELECT id, product, type, status, hour, 1 AS change FROM story WHERE NOT deleted;

CREATE TRIGGER story_counted INSTEAD OF INSERT ON counted_story BEGIN
    INSERT INTO story_count VALUES (NEW.product, NEW.type, NEW.status, NEW.change)
    ON CONFLICT DO UPDATE SET stories = stories + excluded.stories;
    INSERT INTO counted SELECT 'stories ' || NEW.status, project, NEW.change FROM project_story WHERE story = NEW.id;
    -- The row is there since the story was linked to the plan.
    UPDATE plan_count SET stories = stories + NEW.change, hour = hour + NEW.change * NEW.hour
    WHERE plan IN (SELECT plan FROM plan_story WHERE story = NEW.id) AND product = NEW.product;
END;

CREATE TRIGGER story_added AFTER INSERT ON story WHEN NOT NEW.deleted BEGIN
    INSERT INTO counted_story VALUES (NEW.id, NEW.product, NEW.type, NEW.status, NEW.hour, 1);
END;

CREATE TRIGGER story_changed AFTER UPDATE OF product, type, status, estimate, deleted ON story BEGIN
    INSERT INTO counted_story SELECT OLD.id, OLD.product, OLD.type, OLD.status, OLD.hour, -1 WHERE NOT OLD.deleted;
    INSERT INTO counted_story SELECT NEW.id, NEW.product, NEW.type, NEW.status, NEW.hour, 1 WHERE NOT NEW.deleted;
END;

CREATE TRIGGER project_story_added AFTER INSERT ON project_story BEGIN
    INSERT INTO counted SELECT 'stories ' || status, NEW.project, 1 FROM story WHERE id = NEW.story AND NOT deleted;
END;

-- The estimate of a story that has children is the sum of theirs, without the noise of floats. A child that moves
-- changes both parents. One level is enough, as a parent has no parent itself.
CREATE TRIGGER story_estimated AFTER UPDATE OF estimate, parent, deleted ON story BEGIN
    UPDATE story SET estimate = (
        SELECT round(sum(estimate), 9) FROM story AS child WHERE child.parent = story.id AND NOT child.deleted)
    WHERE id IN (OLD.parent, NEW.parent)
        AND EXISTS (SELECT 1 FROM story AS child WHERE child.parent = story.id AND NOT child.deleted);
END;

CREATE TRIGGER story_estimated_first AFTER INSERT ON story WHEN NEW.parent IS NOT NULL AND NOT NEW.deleted BEGIN
    UPDATE story SET parent = parent WHERE id = NEW.id;  -- changes nothing, but fires story_estimated
END;

-- --- Plans ---------------------------------------------------------------------------------------

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

-- How many plans of a product end on each day: GET /products counts those that end after today.
CREATE TABLE plans_ending (
    product INTEGER NOT NULL REFERENCES product,
    end     TEXT NOT NULL,
    plans   INTEGER NOT NULL,
    PRIMARY KEY (product, end)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER plan_added AFTER INSERT ON plan WHEN NOT NEW.deleted BEGIN
    INSERT INTO plans_ending VALUES (NEW.product, NEW.end, 1) ON CONFLICT DO UPDATE SET plans = plans + 1;
    INSERT INTO counted VALUES ('plans', NEW.product, 1);
END;

-- A plan never changes its product.
CREATE TRIGGER plan_moved AFTER UPDATE OF end, deleted ON plan BEGIN
    UPDATE plans_ending SET plans = plans - (1 - OLD.deleted) WHERE product = OLD.product AND end = OLD.end;
    INSERT INTO plans_ending VALUES (NEW.product, NEW.end, NOT NEW.deleted)
    ON CONFLICT DO UPDATE SET plans = plans + excluded.plans;
    INSERT INTO counted VALUES ('plans', NEW.product, OLD.deleted - NEW.deleted);
END;

-- What a list of plans shows beside each: its stories, hours and bugs that are not deleted. The product is part of the
-- key, because a bug may name a plan of another product, or none that exists; the list reads the plan's own only.
CREATE TABLE plan_count (
    plan    INTEGER NOT NULL,
    product INTEGER NOT NULL,  -- of the stories and bugs
    stories INTEGER NOT NULL DEFAULT 0,
    hour    INTEGER NOT NULL DEFAULT 0,  -- in millionths
    bugs    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (plan, product)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER plan_story_added AFTER INSERT ON plan_story BEGIN
    INSERT INTO plan_count (plan, product, stories, hour)
    SELECT NEW.plan, product, 1, hour FROM story WHERE id = NEW.story AND NOT deleted
    ON CONFLICT DO UPDATE SET stories = stories + 1, hour = hour + excluded.hour;
END;

CREATE TRIGGER plan_story_removed AFTER DELETE ON plan_story BEGIN
    UPDATE plan_count SET stories = stories - 1, hour = plan_count.hour - story.hour FROM story
    WHERE plan = OLD.plan AND story.id = OLD.story AND NOT story.deleted AND plan_count.product = story.product;
END;

-- --- Builds --------------------------------------------------------------------------------------

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
    INSERT INTO counted VALUES ('builds', NEW.project, 1), ('builds of execution', NEW.execution, 1);
END;

-- OLD.deleted - 1 is -1 if it counted before, else 0; 1 - NEW.deleted is 1 if it counts now; so in all such triggers.
CREATE TRIGGER build_moved AFTER UPDATE OF project, execution, deleted ON build BEGIN
    INSERT INTO counted VALUES
        ('builds', OLD.project, OLD.deleted - 1), ('builds of execution', OLD.execution, OLD.deleted - 1),
        ('builds', NEW.project, 1 - NEW.deleted), ('builds of execution', NEW.execution, 1 - NEW.deleted);
END;

-- --- Releases ------------------------------------------------------------------------------------

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
CREATE INDEX release_in_project ON release (product, project) WHERE NOT deleted;
CREATE INDEX release_dated ON release (date) WHERE NOT deleted;

-- A release never changes its product or project.
CREATE TRIGGER release_added AFTER INSERT ON release WHEN NOT NEW.deleted BEGIN
    INSERT INTO product_count (product, releases) VALUES (NEW.product, 1)
    ON CONFLICT DO UPDATE SET releases = releases + 1;
    INSERT INTO counted VALUES ('releases', NEW.project, 1);
END;

CREATE TRIGGER release_deleted AFTER UPDATE OF deleted ON release BEGIN
    UPDATE product_count SET releases = releases + OLD.deleted - NEW.deleted WHERE product = NEW.product;
    INSERT INTO counted VALUES ('releases', NEW.project, OLD.deleted - NEW.deleted);
END;

-- The stories that releases name in their text; text that is no list of numbers names none.
CREATE TABLE release_story (
    story   INTEGER NOT NULL,
    release INTEGER NOT NULL REFERENCES release,
    PRIMARY KEY (story, release)
) STRICT, WITHOUT ROWID;
CREATE INDEX story_of_release ON release_story (release);

-- typeof() leaves out numbers that are not whole or exceed 64 bits; named.type leaves out true and false, which are
-- 1 and 0.
CREATE VIEW named_story AS SELECT value AS story, release.id AS release FROM release,
    json_each(iif(json_valid('[' || trim(stories, ', ') || ']'), '[' || trim(stories, ', ') || ']', '[]')) AS named
WHERE typeof(value) = 'integer' AND named.type = 'integer' AND NOT release.deleted;

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
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    -- in quarters of an hour since 1970; opened is 0 if nobody knows when
    opened         INTEGER AS (coalesce(strftime('%s', openedDate) / 900, 0)),
    resolved       INTEGER AS (strftime('%s', resolvedDate) / 900)
) STRICT;

-- First an index for each status by which a product's bugs may be browsed, so that no list reads all of them; then one
-- for each other record whose bugs are listed.
CREATE INDEX bug_of_product ON bug (product, deleted);
CREATE INDEX bug_in_status ON bug (product, deleted, status);
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

-- How many bugs of a product were opened and resolved in each quarter of an hour since 1970, product 0: of all. The
-- midnights of every time zone fall on the edges of quarters, so a week in any of them is a sum over few rows.
CREATE TABLE bugs_dated (
    product  INTEGER NOT NULL,
    quarter  INTEGER NOT NULL,
    opened   INTEGER NOT NULL DEFAULT 0,
    resolved INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (product, quarter)
) STRICT, WITHOUT ROWID;

-- Only inserted into, like `counted`: a bug, with the change 1 when it begins to count and -1 when it ends. It counts
-- in the lists of its project and execution, in its plan, in its product and by its dates.
CREATE VIEW counted_bug AS
SELECT project, execution, plan, product, status, resolution, assignedTo, opened, resolved, 1 AS change
FROM bug WHERE NOT deleted;

CREATE TRIGGER bug_counted INSTEAD OF INSERT ON counted_bug BEGIN
    INSERT INTO counted VALUES ('bugs', NEW.project, NEW.change), ('bugs of execution', NEW.execution, NEW.change);
    INSERT INTO plan_count (plan, product, bugs) SELECT NEW.plan, NEW.product, NEW.change WHERE NEW.plan <> 0
    ON CONFLICT DO UPDATE SET bugs = bugs + excluded.bugs;
    INSERT INTO product_count (product) VALUES (NEW.product) ON CONFLICT DO NOTHING;
    UPDATE product_count SET
        bugs = bugs + NEW.change,
        unResolved = unResolved + NEW.change * (NEW.status = 'active'),
        closedBugs = closedBugs + NEW.change * (NEW.status = 'closed'),
        fixedBugs = fixedBugs + NEW.change * (NEW.status = 'closed' AND NEW.resolution = 'fixed'),
        assignToNull = assignToNull + NEW.change * (NEW.assignedTo IS NULL)
    WHERE product = NEW.product;
    INSERT INTO bugs_dated (product, quarter, opened) VALUES
        (NEW.product, NEW.opened, NEW.change), (0, NEW.opened, NEW.change)
    ON CONFLICT DO UPDATE SET opened = opened + excluded.opened;
    INSERT INTO bugs_dated (product, quarter, resolved)
    SELECT NEW.product, NEW.resolved, NEW.change WHERE NEW.resolved IS NOT NULL
    UNION ALL SELECT 0, NEW.resolved, NEW.change WHERE NEW.resolved IS NOT NULL
    ON CONFLICT DO UPDATE SET resolved = resolved + excluded.resolved;
END;

CREATE TRIGGER bug_added AFTER INSERT ON bug WHEN NOT NEW.deleted BEGIN
    INSERT INTO counted_bug VALUES (NEW.project, NEW.execution, NEW.plan, NEW.product, NEW.status, NEW.resolution,
        NEW.assignedTo, NEW.opened, NEW.resolved, 1);
END;

CREATE TRIGGER bug_changed
AFTER UPDATE OF project, execution, plan, product, status, resolution, assignedTo, resolvedDate, deleted ON bug BEGIN
    INSERT INTO counted_bug SELECT OLD.project, OLD.execution, OLD.plan, OLD.product, OLD.status, OLD.resolution,
        OLD.assignedTo, OLD.opened, OLD.resolved, -1 WHERE NOT OLD.deleted;
    INSERT INTO counted_bug SELECT NEW.project, NEW.execution, NEW.plan, NEW.product, NEW.status, NEW.resolution,
        NEW.assignedTo, NEW.opened, NEW.resolved, 1 WHERE NOT NEW.deleted;
END;

-- --- Tasks and their efforts ---------------------------------------------------------------------

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
CREATE INDEX task_of_story ON task (story, deleted) WHERE story <> 0;
CREATE INDEX task_in_state ON task (execution, deleted, status, consumed, "left");

CREATE TRIGGER task_added AFTER INSERT ON task WHEN NOT NEW.deleted BEGIN
    INSERT INTO counted VALUES ('tasks', NEW.execution, 1);
END;

CREATE TRIGGER task_moved AFTER UPDATE OF execution, deleted ON task BEGIN
    INSERT INTO counted VALUES ('tasks', OLD.execution, OLD.deleted - 1), ('tasks', NEW.execution, 1 - NEW.deleted);
END;

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

-- --- Test cases, their steps and results ---------------------------------------------------------

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
CREATE INDEX testcase_of_project ON testcase (project, deleted) WHERE project IS NOT NULL;
CREATE INDEX testcase_of_execution ON testcase (execution, deleted) WHERE execution IS NOT NULL;
CREATE INDEX testcase_of_story ON testcase (story, deleted) WHERE story <> 0;

CREATE TRIGGER testcase_added AFTER INSERT ON testcase WHEN NOT NEW.deleted BEGIN
    INSERT INTO counted VALUES ('testcases', NEW.product, 1);
END;

CREATE TRIGGER testcase_moved AFTER UPDATE OF product, deleted ON testcase BEGIN
    INSERT INTO counted VALUES ('testcases', OLD.product, OLD.deleted - 1), ('testcases', NEW.product, 1 - NEW.deleted);
END;

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

-- An item of a test case's steps belongs to the last group before it.
CREATE TRIGGER step_grouped AFTER INSERT ON step WHEN NEW.type = 'item' AND NEW.parent = 0 BEGIN
    UPDATE step SET parent = coalesce(
        (SELECT max(id) FROM step WHERE "case" = NEW."case" AND type = 'group' AND id < NEW.id), 0)
    WHERE id = NEW.id;
END;

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

-- --- Test tasks ----------------------------------------------------------------------------------

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
    INSERT INTO counted VALUES ('testtasks', NEW.project, 1), ('testtasks of product', NEW.product, 1);
END;

CREATE TRIGGER testtask_moved AFTER UPDATE OF project, product, deleted ON testtask BEGIN
    INSERT INTO counted VALUES
        ('testtasks', OLD.project, OLD.deleted - 1), ('testtasks of product', OLD.product, OLD.deleted - 1),
        ('testtasks', NEW.project, 1 - NEW.deleted), ('testtasks of product', NEW.product, 1 - NEW.deleted);
END;

-- --- The action log: who did what to which record, and the comment that came with it -------------

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

PRAGMA user_version = 7;

-- === Version 8 ===================================================================================
-- A closed bug without an assignee does not count in `assignToNull`. A build that is released is called as its release.

CREATE INDEX release_of_build ON release (build) WHERE build <> 0;

CREATE TRIGGER closed_bug_counted INSTEAD OF INSERT ON counted_bug
WHEN NEW.status = 'closed' AND NEW.assignedTo IS NULL BEGIN
    INSERT INTO product_count (product, assignToNull) VALUES (NEW.product, -NEW.change)
    ON CONFLICT DO UPDATE SET assignToNull = assignToNull + excluded.assignToNull;
END;

UPDATE product_count SET assignToNull = assignToNull - (
    SELECT count(*) FROM bug
    WHERE bug.product = product_count.product AND NOT bug.deleted AND status = 'closed' AND assignedTo IS NULL);

PRAGMA user_version = 8;

-- === Version 9 ===================================================================================
-- Nothing is kept about the demo: it is not made anew in a file.

DROP TABLE IF EXISTS demo;

PRAGMA user_version = 9;
