-- Words that repeat: properties, rules, ends, ids of bugs.
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- A campaign: a strategy with parameters against a protocol.
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,   -- a hash of all that determines its runs
    experiment TEXT NOT NULL,   -- the table that it belongs to: 'fuzz', 'suite', 'tune', or the name of an experiment
    variant TEXT NOT NULL,      -- what it ran on: a protocol, a variant of the table, a bug
    row TEXT NOT NULL,          -- who searched: a row of the table
    target TEXT NOT NULL,       -- what counts as success: 'any', a property, 'property:rule', 'bug:ID'
    protocol TEXT NOT NULL,
    strategy TEXT NOT NULL,
    params TEXT NOT NULL,       -- a JSON object of texts
    base TEXT NOT NULL,         -- what all its scenarios share, in TOML
    seed TEXT NOT NULL,
    learns INTEGER NOT NULL,    -- 1: its runs depend on each other
    wanted INTEGER,             -- how many runs were asked for; NULL: as many as there was time for
    marks TEXT NOT NULL,        -- a JSON array: the names of the bits of runs.marks
    version TEXT NOT NULL       -- of turncoat
);

-- Its runs: 0, 1, 2, ... without gaps.
CREATE TABLE runs (
    campaign INTEGER NOT NULL, run INTEGER NOT NULL,
    end INTEGER NOT NULL,       -- names.id
    calm INTEGER NOT NULL, over_budget INTEGER NOT NULL,
    steps INTEGER NOT NULL, deliveries INTEGER NOT NULL, commits INTEGER NOT NULL, completed INTEGER NOT NULL,
    faults INTEGER NOT NULL, dropped INTEGER NOT NULL, held INTEGER NOT NULL,
    mutated INTEGER NOT NULL, accepted INTEGER NOT NULL, refused INTEGER NOT NULL, garbage INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    PRIMARY KEY (campaign, run)
) WITHOUT ROWID;

-- What did not hold in a run: its rules, in the order in which they broke.
CREATE TABLE violations (
    campaign INTEGER NOT NULL, run INTEGER NOT NULL, nth INTEGER NOT NULL,
    property INTEGER NOT NULL, rule INTEGER NOT NULL,   -- names.id
    step INTEGER NOT NULL,
    signature INTEGER NOT NULL, -- signatures.id
    bug INTEGER,                -- names.id: a bug of the suite, or 'other'; NULL: nobody asked
    PRIMARY KEY (campaign, run, nth)
) WITHOUT ROWID;

-- Kinds of violations, with the first run of each.
CREATE TABLE signatures (
    campaign INTEGER NOT NULL, id INTEGER NOT NULL,
    text TEXT NOT NULL,
    run INTEGER NOT NULL, detail TEXT NOT NULL, scenario TEXT NOT NULL,
    PRIMARY KEY (campaign, id)
) WITHOUT ROWID;

-- Who worked on a campaign for how long, by the clock on the wall. Two stores of the same campaigns differ here alone.
CREATE TABLE spells (
    campaign INTEGER NOT NULL, first INTEGER NOT NULL, runs INTEGER NOT NULL, seconds REAL NOT NULL, jobs INTEGER NOT NULL
);
