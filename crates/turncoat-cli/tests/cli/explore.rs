//! The explorer's server, asked as a page asks it, and as those ask whom it must refuse.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::Folder;

/// A server, and where it is.
struct Server {
    process: Child,
    host: String,
    /// The path that holds the token.
    path: String,
}

/// What it answered.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(folder: &Folder, args: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_turncoat"))
            .current_dir(folder.path())
            .arg("explore")
            .args(args.split_whitespace())
            .arg("--no-open")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut address = String::new();
        let out = process.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut address).expect("an address");
        let rest = address.trim().strip_prefix("http://").expect("an address").to_owned();
        let (host, path) = rest.split_once('/').expect("a path");
        Self { process, host: host.to_owned(), path: format!("/{path}") }
    }

    /// A request as bytes, and what came back.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        // It may answer and close before it has read all.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn ask_with(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        );
        self.raw(request.as_bytes())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let host = format!("host: {}\r\n", self.host);
        self.ask_with(method, &format!("{}{path}", self.path), &host, body)
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &body.to_string())
    }

    fn open(&self, body: &Value) -> String {
        let answer = self.post("api/sessions", body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["session"].as_str().expect("an id").to_owned()
    }
}

impl Answer {
    /// The body, which may come in chunks.
    fn json(&self) -> Value {
        let start = self.body.find('{').expect("JSON");
        let end = self.body.rfind('}').expect("JSON");
        let text: String = self.body[start..=end]
            .split("\r\n")
            .filter(|part| part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .collect();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().expect("words").to_owned()
    }
}

#[test]
fn figure_2_is_played_by_hand_exported_and_replayed() {
    let folder = Folder::new();
    let server = Server::start(&folder, "");
    let id = server.open(&json!({ "protocol": "pbft-java", "requests": 2 }));
    let at = |run: u64, at: u64| format!("api/sessions/{id}/{run}/{at}");
    let act = |place: u64, action: &str| {
        server.post(&format!("{}/act", at(0, place)), &json!({ "action": action }))
    };
    let request = act(0, "deliver c0>p0 request #1");
    assert_eq!(request.json(), json!({ "run": 0, "at": 1, "note": null }));

    // p0 is honest until somebody says otherwise.
    let lie = "mutate p0>p3 pre-prepare #1 pre-prepare.seq+1";
    let refused = act(1, lie);
    assert_eq!((refused.status, &*refused.error()), (422, "p0 is honest: only a Byzantine node lies"));
    let lies = server.get(&format!("{}/lies?message=p0%3Ep3%20pre-prepare%20%231", at(0, 1)));
    assert_eq!((&lies["honest"], &lies["budget"]), (&json!(true), &json!(true)));
    assert_eq!(server.post(&format!("api/sessions/{id}/liars"), &json!({ "byzantine": ["p0"] })).status, 200);
    assert_eq!(act(1, lie).json()["at"], 2);

    let gone = server.post(&format!("{}/go", at(0, 2)), &json!({ "until": "end" })).json();
    let end = gone["at"].as_u64().expect("a place");
    let run = server.get(&format!("api/sessions/{id}/0"));
    let violations = run["violations"].as_array().expect("a list");
    let agreement =
        violations.iter().find(|violation| violation["property"] == "agreement").expect("it is violated");
    let before = server.get(&at(0, agreement["at"].as_u64().expect("a place") - 1));
    let after = server.get(&at(0, agreement["at"].as_u64().expect("a place")));
    let check = |moment: &Value| moment["checks"][0]["violated"].clone();
    assert_eq!((after["checks"][0]["property"].as_str(), check(&before)), (Some("agreement"), Value::Null));
    assert!(check(&after).is_string(), "{after}");
    assert!(!after["logs"]["arithmetic"].as_array().expect("lines").is_empty());

    // In the past another choice makes another run, the same choice none.
    assert_eq!(act(1, lie).json()["run"], 0);
    let other = act(1, "drop p0>p3 pre-prepare #1").json();
    assert_eq!((&other["run"], &other["at"]), (&json!(1), &json!(2)));

    let scenario = server.ask("GET", &format!("{}/export/scenario.toml", at(0, end)), "");
    let body = scenario.body.split("\r\n").filter(|part| part.contains(' ')).collect::<Vec<_>>().join("");
    folder.write("mine.toml", &body);
    let ran = folder.turncoat("replay mine.toml");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("agreement violated"), "{}", ran.out);
    let page = server.ask("GET", &format!("{}/export/page.html", at(1, 2)), "");
    assert!(page.status == 200 && page.body.contains("turncoat-data"), "{}", page.status);
}

#[test]
fn only_the_page_with_the_token_is_answered() {
    let server = Server::start(&Folder::new(), "pbft");
    let (host, home) = (format!("host: {}\r\n", server.host), format!("{}api/home", server.path));
    let status = |path: &str, headers: &str| server.ask_with("GET", path, headers, "").status;
    assert_eq!(status(&home, &host), 200);
    assert_eq!(status("/0123456789abcdef0123456789abcdef/api/home", &host), 403, "a wrong token");
    assert_eq!(status("/api/home", &host), 403, "no token");
    assert_eq!(status(&home, "host: evil.example\r\n"), 403, "a name that points here");
    assert_eq!(status(&home, &format!("{host}origin: http://evil.example\r\n")), 403, "another page");
    assert_eq!(status(&home, &format!("{host}origin: null\r\n")), 403, "a page without an origin");
    assert_eq!(status(&home, &format!("{host}origin: http://{}\r\n", server.host)), 200, "its own page");
    let page = server.ask("GET", "", "");
    assert!(page.status == 200 && page.body.contains("<!doctype html>"), "{}", page.body);
    for header in ["content-security-policy: default-src 'none'", "nosniff", "no-referrer", "no-store"] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let folder = Folder::new();
    folder.write("secret.txt", "secret");
    let server = Server::start(&folder, "pbft");
    let status = |method: &str, path: &str, body: &str| server.ask(method, path, body).status;
    for path in ["../Cargo.toml", "..%2f..%2fetc%2fpasswd", "vendor/../../server.rs", "secret.txt", "%00"] {
        let answer = server.ask("GET", path, "");
        assert!(matches!(answer.status, 400 | 403 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("secret\n") && !answer.body.contains("fn "), "{path}");
    }
    assert_eq!(status("GET", "api/reports/..%2fsecret.txt", ""), 404);
    assert_eq!(server.post("api/sessions", &json!({ "file": "/etc/passwd" })).status, 404);
    assert_eq!(server.post("api/sessions", &json!({ "file": "../secret.txt" })).status, 404);
    assert_eq!(status("POST", "api/sessions", "{"), 400);
    assert_eq!(status("POST", "api/sessions", "[1]"), 400);
    assert_eq!(status("POST", "api/sessions", r#"{"text":"schema = 1","name":"mine"}"#), 400);
    assert_eq!(server.post("api/sessions", &json!({ "protocol": "pbtf" })).status, 400);
    assert_eq!(server.post("api/sessions", &json!({ "protocol": "pbft", "n": 3, "f": 1 })).status, 400);
    assert_eq!(status("POST", "api/sessions", &format!("\"{}\"", "x".repeat(2 << 20))), 413);
    for path in ["s9/0", "s1/9", "s1/0/9", "s1/0/x", "s1/-1"] {
        assert!(matches!(status("GET", &format!("api/sessions/{path}"), ""), 400 | 404), "{path}");
    }
    let act = |action: &str| server.post("api/sessions/s1/0/0/act", &json!({ "action": action }));
    assert_eq!(act("dance").status, 400);
    assert_eq!(act("deliver p0>p1 prepare #1").status, 422);
    assert_eq!(act("suspect p0").status, 422, "an honest node");
    assert_eq!(status("DELETE", "api/home", ""), 405);
    assert_eq!(server.raw(b"nonsense\r\n\r\n").status, 400);
    // None of it did any harm.
    assert_eq!(act("deliver c0>p0 request #1").status, 200);
}

#[test]
fn who_may_only_look_does_not_play() {
    let server = Server::start(&Folder::new(), "pbft-java/figure-2 --read-only");
    let act = json!({ "action": "deliver c0>p0 request #1" });
    assert_eq!(server.post("api/sessions/s1/0/0/act", &act).status, 422);
    assert_eq!(server.post("api/sessions/s1/liars", &json!({ "byzantine": [] })).status, 422);
    let hunt = json!({ "protocol": "pbft", "strategy": "byzzfuzz", "runs": 10 });
    assert_eq!(server.post("api/campaigns", &hunt).status, 422);
    assert_eq!(server.ask("DELETE", "api/sessions/s1", "").status, 422);
    assert_eq!(server.get("api/sessions/s1/0")["readOnly"], true);
}

/// A lie, and the network's calm, are choices of the page and no events: they have no numbers of their own.
#[test]
fn a_step_has_the_number_that_it_has_in_explanations() {
    let server = Server::start(&Folder::new(), "pbft-java/figure-2");
    let run = server.get("api/sessions/s1/0");
    let steps = run["steps"].as_array().expect("a list");
    let number = |at: &Value| steps[at.as_u64().expect("a number") as usize - 1]["number"].clone();
    let agreement =
        run["violations"].as_array().expect("a list").iter().find(|it| it["property"] == "agreement");
    let agreement = agreement.expect("a violation");
    assert_eq!(number(&agreement["at"]), 48, "as `explain` says");
    assert!(agreement["at"].as_u64() > Some(48), "there are lies among the choices");
    let moment = server.get(&format!("api/sessions/s1/0/{}", steps.len()));
    let why = moment["logs"]["arithmetic"].as_array().expect("a list");
    assert!(
        why[0].as_str().is_some_and(|line| line.starts_with("At step 43 p2 decided B in slot 2")),
        "{why:?}"
    );
    let story = server.get(&format!("api/sessions/s1/0/{}/story", steps.len()));
    assert!(story["violated"].as_str().is_some_and(|line| line.contains("at step 48")), "{story}");
}

#[test]
fn termination_is_judged_at_the_end_and_not_before() {
    let server = Server::start(&Folder::new(), "pbft/read-only-liveness");
    let run = server.get("api/sessions/s1/0");
    let end = run["steps"].as_array().expect("a list").len();
    assert_eq!(run["violations"][0]["property"], "termination", "{}", run["violations"]);
    let check = |at: usize| {
        let moment = server.get(&format!("api/sessions/s1/0/{at}"));
        let checks = moment["checks"].as_array().expect("a list").clone();
        let termination =
            checks.into_iter().find(|check| check["property"] == "termination").expect("it is there");
        (termination["open"].clone(), termination["violated"].is_string(), moment["over"].clone())
    };
    assert_eq!(check(end - 1), (json!(true), false, Value::Null));
    assert_eq!(check(end), (json!(false), true, json!("the limit on steps is reached")));
}

#[test]
fn a_hundred_sessions_live_side_by_side_and_the_oldest_make_room() {
    let server = Server::start(&Folder::new(), "");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let id = server.open(&json!({ "bug": "pbft-java/figure-2" }));
                    assert_eq!(
                        server.get(&format!("api/sessions/{id}/0"))["violations"][0]["property"],
                        "agreement"
                    );
                }
            });
        }
    });
    let open = || server.get("api/home")["sessions"].as_array().expect("a list").len();
    assert_eq!(open(), 100);
    for _ in 0..40 {
        server.open(&json!({ "protocol": "pbft" }));
    }
    assert_eq!(open(), 128);
    assert_eq!(server.ask("GET", "api/sessions/s1/0", "").status, 404);
}

#[test]
fn a_campaign_tells_what_it_finds_and_each_finding_opens() {
    let server = Server::start(&Folder::new(), "");
    let hunt = json!({ "protocol": "pbft-java", "strategy": "byzzfuzz", "runs": 300, "set": { "c": "2" } });
    let id = server.post("api/campaigns", &hunt).json()["campaign"].as_str().expect("an id").to_owned();
    // The stream ends with the campaign.
    let events = server.ask("GET", &format!("api/campaigns/{id}/events"), "").body;
    let last = events.lines().rfind(|line| line.starts_with("data: ")).expect("an event");
    let last: Value = serde_json::from_str(&last["data: ".len()..]).expect("JSON");
    assert_eq!((&last["done"], &last["runs"], &last["error"]), (&json!(true), &json!(300), &Value::Null));
    let finding = &last["findings"][0];
    let session = server.open(&json!({ "campaign": id, "finding": finding["finding"] }));
    let run = server.get(&format!("api/sessions/{session}/0"));
    let broken = run["violations"].as_array().expect("a list").iter().map(|violation| &violation["property"]);
    assert!(broken.into_iter().any(|property| *property == finding["property"]), "{finding}");
}

#[test]
fn what_cannot_be_opened_is_refused_before_anybody_waits() {
    let folder = Folder::new();
    folder.write("bad.toml", "schema = 1");
    let nonsense = [
        ("explore pbtf", "did you mean `pbft`?"),
        ("explore pbft/no-such-bug", "no bug `pbft/no-such-bug`"),
        ("explore nothing.toml", "cannot read nothing.toml"),
        ("explore bad.toml", "protocol"),
        ("explore pbft -n 3 -f 1", "n >= 4"),
        ("explore pbft-java/figure-2 -n 7", "leave out the other options"),
    ];
    for (args, words) in nonsense {
        let ran = folder.turncoat(&format!("{args} --no-open"));
        assert!(ran.code == 2 && ran.err.contains(words), "{args}: {} {}", ran.code, ran.err);
    }
}

/// Whoever connects and says nothing, or half of a request, is not waited for.
#[test]
fn slow_connections_are_closed() {
    let server = Server::start(&Folder::new(), "");
    let said = ["", "GET / HTTP/1.1\r\nhost: "];
    let open: Vec<TcpStream> = said
        .iter()
        .map(|said| {
            let mut stream = TcpStream::connect(&server.host).expect("it listens");
            stream.write_all(said.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    for mut stream in open {
        // A test that waits for this is a test that fails.
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a timeout");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is closed");
    }
    server.get("api/home");
}

/// Everybody on the machine may see with which arguments a program was started.
#[test]
fn the_token_is_not_among_the_arguments_of_the_browser() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name);
    folder.write("xdg-open", "#!/bin/sh\necho \"$@\" >\"$ARGUMENTS\"\n");
    std::fs::set_permissions(path("xdg-open"), PermissionsExt::from_mode(0o755)).expect("a program");
    assert!(Command::new("mkfifo").arg(path("arguments")).status().expect("mkfifo").success());
    let mut process = Command::new(env!("CARGO_BIN_EXE_turncoat"))
        .current_dir(folder.path())
        .arg("explore")
        .env("PATH", folder.path())
        .env("ARGUMENTS", path("arguments"))
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut address = String::new();
    BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut address).expect("an address");
    let arguments = folder.read("arguments");
    let page = std::path::Path::new(arguments.trim());
    let html = std::fs::read_to_string(page).expect("a page");
    let mode = page.metadata().expect("a page").permissions().mode();
    assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().expect("kill").success());
    process.wait().expect("it ends");
    assert!(html.contains(address.trim()) && !arguments.contains("http"), "{arguments}: {html}");
    assert_eq!(mode & 0o777, 0o600);
    assert!(!page.exists(), "it is gone with the server");
}
