// What the server says and is asked, as types for the checker: this file has no code.
//
// A run is a list of choices. `at` is a place in it: after so many choices; 0 is the start. Choices are the lines of a schedule:
//
//     deliver p0>p3 prepare #2        drop ...      duplicate ...       (the second PREPARE from p0 to p3)
//     delay p0>p3 prepare #2 500      (arrives so many ticks later)
//     mutate p0>p3 prepare #2 prepare.view+1        (a named lie; still to be delivered)
//     edit p0>p3 prepare #2 n 7                     (a field set by hand; still to be delivered)
//     fire p1 request     suspect p1     crash p0     restart p0     restart p0 blank
//     split p0,p1         (what is sent from now on between these and all others is lost)      heal
//     wait                (what is scheduled next for a moment happens)       calm
//
// All addresses are relative to the page, whose path holds the token. Errors are `{ error }` with status 4xx or 5xx.
//
// | | |
// |---|---|
// | GET `api/home` | {@link Home} |
// | POST `api/sessions` | {@link Open} -> `{ session }` |
// | DELETE `api/sessions/ID` | |
// | POST `api/sessions/ID/liars` | `{ byzantine: ["p0"] }`: the same choices, with other liars -> {@link Place} of the first run |
// | GET `api/sessions/ID/RUN` | {@link Run} |
// | GET `api/sessions/ID/RUN/AT` | {@link Moment} |
// | GET `api/sessions/ID/RUN/AT/lies?message=NAME` | {@link Lies} |
// | GET `api/sessions/ID/RUN/AT/story` | {@link Story} |
// | POST `api/sessions/ID/RUN/AT/act` | `{ action }` -> {@link Place} |
// | POST `api/sessions/ID/RUN/AT/go` | `{ until: "decision" \| "view-change" \| "violation" \| "end" \| "steps", steps? }` -> {@link Place} |
// | POST `api/sessions/ID/RUN/AT/fork` | `{ name }` -> {@link Place} |
// | GET `api/sessions/ID/RUN/AT/export/NAME` | a file: `scenario.toml`, `schedule.txt`, `chart.svg`, `chart.mmd`, `page.html` |
// | POST `api/campaigns` | {@link Hunt} -> `{ campaign }` |
// | POST `api/campaigns/ID/stop` | |
// | GET `api/campaigns/ID/events` | server-sent events, each a {@link Campaign} |
// | GET `api/reports/FILE` | the report of a database, a page of its own |

/**
 * Where an answer leads: a run of the session, and a place in it. `note` is for the reader: why a run stopped.
 * @typedef {{ run: number, at: number, note: string | null }} Place
 */

/**
 * What to open: a protocol, a bug of the suite, a file of the list, the text of a scenario, or what a campaign has found.
 * @typedef {{ protocol: string, n?: number, f?: number, clients?: number, requests?: number, byzantine?: string[],
 *   set?: Record<string, string> } | { bug: string } | { file: string } | { text: string, name: string }
 *   | { campaign: string, finding: number }} Open
 */

/**
 * @typedef {object} Home
 * @property {string} version
 * @property {boolean} readOnly
 * @property {string | null} first the session that the command line asked for
 * @property {ProtocolInfo[]} protocols
 * @property {StrategyInfo[]} strategies
 * @property {BugInfo[]} bugs
 * @property {FileInfo[]} files
 * @property {SessionInfo[]} sessions
 * @property {Campaign[]} campaigns
 */

/** @typedef {{ name: string, family: string, about: string }} ProtocolInfo */
/** @typedef {{ name: string, about: string, params: { name: string, default: string, about: string }[] }} StrategyInfo */
/**
 * @typedef {{ id: string, title: string, property: string, tier: number, source: string, note: string, protocol: string,
 *   n: number, flags: string[] }} BugInfo
 */
/** @typedef {{ name: string, kind: "scenario" | "database", about: string }} FileInfo */
/** @typedef {{ id: string, title: string, protocol: string, runs: number, choices: number, violation: string | null }} SessionInfo */

/**
 * A run of a session, to its last choice.
 * @typedef {object} Run
 * @property {string} session
 * @property {number} run which of the session's runs
 * @property {string} title
 * @property {string} protocol
 * @property {string} about
 * @property {string} slot what a place in the log is called
 * @property {{ n: number, f: number, clients: number, quorum: number }} cluster
 * @property {Lifeline[]} lifelines from left to right, clients first
 * @property {Branch[]} runs all runs of the session, of which each but the first was forked from another
 * @property {Step[]} steps choice number `at` is `steps[at - 1]`
 * @property {Arrow[]} arrows in the order in which they were sent
 * @property {Mark[]} marks in order
 * @property {Split[]} splits made by hand
 * @property {Split[]} partitions that the scenario asks for
 * @property {string[]} values what the values are that clients asked for; their names are A, B, ...
 * @property {Violation[]} violations in order
 * @property {boolean} readOnly
 */

/** @typedef {{ name: string, client: boolean, byzantine: boolean }} Lifeline a second instance of `p0` is `p0.b` */
/** @typedef {{ name: string, from: number | null, at: number, choices: number, violation: string | null }} Branch */

/**
 * A choice, and what it was.
 * @typedef {object} Step
 * @property {number} number the event that it is, or comes after, as in traces and explanations
 * @property {string} action
 * @property {string} what its first word
 * @property {string} words in plain words
 * @property {number} time the clock after it
 * @property {number | null} lifeline where it happened
 * @property {number | null} arrow the message that it was about
 */

/**
 * A copy of a message, from one to another.
 * @typedef {object} Arrow
 * @property {string} name as in choices: `p0>p3 prepare #2`
 * @property {number} from a lifeline
 * @property {number} to a lifeline
 * @property {number} sent after which choice
 * @property {number | null} end in which choice it arrived or was lost
 * @property {"underway" | "delivered" | "lost" | "withheld" | "down"} fate
 * @property {boolean} heeded false if it arrived and had no effect
 * @property {boolean} held whether the network held it back
 * @property {string} kind
 * @property {string | null} view its name
 * @property {number | null} slot
 * @property {string} label kind and fields in short
 * @property {string} text kind and fields in full
 * @property {number[]} values the values that it names
 * @property {{ words: string, changes: Change[] } | null} lie how it differs from what its sender's code wrote
 */

/** @typedef {{ field: string, was: string, is: string }} Change */

/**
 * Something that happened to somebody, or to all.
 * @typedef {object} Mark
 * @property {number | null} lifeline
 * @property {number} at
 * @property {"timer" | "decision" | "completion" | "stop" | "note" | "view" | "violation"} sign
 * @property {string} text
 * @property {number | null} value the number of the value decided
 */

/** @typedef {{ from: number, to: number | null, side: number[] }} Split while it lasts, these lifelines hear nobody else */
/** @typedef {{ property: string, rule: string, at: number, detail: string, nodes: string[], slot: number | null }} Violation */

/**
 * A run at a place.
 * @typedef {object} Moment
 * @property {number} at
 * @property {number} time
 * @property {boolean} calm
 * @property {string | null} over why nothing can happen any more, if so
 * @property {string | null} suggested the choice that the scenario's own scheduler would make
 * @property {Seat[]} seats by lifeline
 * @property {Flying[]} flying messages in flight, oldest first
 * @property {{ liars: string[], stopped: string[], f: number, over: boolean }} budget
 * @property {StateTable} state
 * @property {Logs} logs
 * @property {Check[]} checks
 */

/**
 * @typedef {object} Seat
 * @property {boolean} alive
 * @property {boolean} correct
 * @property {string | null} view its name
 * @property {boolean} changingView
 * @property {{ name: string, at: number }[]} timers armed, earliest first
 * @property {string[]} waiting what it needs to go on, in words
 */

/** @typedef {{ name: string, arrow: number, from: number, to: number, kind: string, text: string, label: string, arrives: number, liar: boolean }} Flying */

/**
 * The state of replicas, side by side.
 * @typedef {object} StateTable
 * @property {number[]} columns lifelines
 * @property {StateRow[]} rows
 */

/**
 * @typedef {object} StateRow
 * @property {string} path `log.3.prepares`; rows whose paths begin alike are one part of the state
 * @property {(string | null)[]} values by column; null: there is no such field
 * @property {boolean[]} changed by column, whether the last choice changed it
 * @property {boolean} differs whether correct replicas differ in it
 */

/**
 * What was decided, slot by slot.
 * @typedef {object} Logs
 * @property {number[]} columns lifelines of replicas
 * @property {{ slot: number, cells: (Decision | null)[], conflict: boolean }[]} slots
 * @property {string[]} arithmetic why two decided differently, in sentences; empty if they did not
 */

/** @typedef {{ name: string, value: number | null, requests: string[], voters: string[], at: number }} Decision */
/**
 * A property, what it says, what violates it, and whether that cannot be told before the end.
 * @typedef {{ property: string, states: string, open: boolean, violated: string | null }} Check
 */

/**
 * What can be done to a message that a liar has sent.
 * @typedef {object} Lies
 * @property {string} message
 * @property {string} text
 * @property {string} sender
 * @property {boolean} honest whether its sender does not lie: then all lists are there to read, and acting is refused
 * @property {boolean} budget whether one more liar is within the model
 * @property {{ field: string, value: string }[]} fields
 * @property {{ name: string, scope: "small" | "any" | "crafted" | "named", changes: Change[], text: string }[]} lies that change something
 */

/** @typedef {{ violated: string | null, sections: { title: string, lines: string[] }[] }} Story */
/** @typedef {{ protocol: string, strategy: string, runs: number, n?: number, f?: number, requests?: number, set?: Record<string, string> }} Hunt */

/**
 * @typedef {object} Campaign
 * @property {string} id
 * @property {string} title
 * @property {string} protocol
 * @property {string} strategy
 * @property {number} runs so far
 * @property {number} of
 * @property {number} violating
 * @property {number} seconds
 * @property {boolean} done
 * @property {string | null} error
 * @property {Finding[]} findings grouped by signature, most runs first
 */

/** @typedef {{ finding: number, property: string, signature: string, words: string, runs: number, first: number }} Finding */

/**
 * What a page that stands alone has instead of a server, in `<script id="turncoat-data" type="application/json">`.
 * @typedef {{ run: Run, moments: Moment[], story: Story }} Alone
 */

export {};
