//! Answers requests, of this machine and with the token alone.
//!
//! The token is a part of every address. What does not come from the page itself is refused: another host in the address
//! (somebody has pointed a name at this machine), another origin (another page in the same browser).

use std::convert::Infallible;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use futures_util::stream::{self, Stream};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rust_embed::Embed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::hunt::Hunt;
use super::session::{Place, Until};
use super::waiting::Waiting;
use super::workspace::{Open, Workspace};
use super::{Trouble, export, home, moment, view};
use crate::commands::report;

/// The page.
#[derive(Embed)]
#[folder = "src/explore/page"]
pub(super) struct Page;

/// The longest request.
const BODY: usize = 1 << 20;

/// How long a client may take to say what it wants, before the connection is closed.
const HEAD: Duration = Duration::from_secs(5);

/// How long a request may take in all.
const ANSWER: Duration = Duration::from_secs(60);

/// How often a campaign says how far it is.
const BEAT: Duration = Duration::from_millis(250);

/// What the page may load: itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// What a report may load: what is in it.
const REPORT_POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

#[derive(Clone)]
struct Shared {
    workspace: Arc<Workspace>,
    hosts: Arc<[String; 2]>,
}

type Answer<T> = Result<axum::Json<T>, Trouble>;
type Posted<T> = Result<axum::Json<T>, JsonRejection>;

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Missing(error) => (StatusCode::NOT_FOUND, error),
            Self::Bad(error) => (StatusCode::BAD_REQUEST, error),
            Self::Refused(error) => (StatusCode::UNPROCESSABLE_ENTITY, error),
            Self::Slow(error) => (StatusCode::REQUEST_TIMEOUT, error),
            Self::TooLong(error) => (StatusCode::PAYLOAD_TOO_LARGE, error),
        };
        (status, axum::Json(json!({ "error": error }))).into_response()
    }
}

/// Serves until somebody presses Ctrl-C. `ready` is told the address.
pub(crate) fn serve(workspace: Workspace, port: u16, ready: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port)))
            .await
            .with_context(|| format!("cannot listen on port {port}"))?;
        let address = listener.local_addr()?;
        let token = token()?;
        let app = router(workspace, &token, address.port());
        tokio::select! {
            // In this order: whoever is told the address may press it at once.
            biased;
            pressed = tokio::signal::ctrl_c() => pressed.context("cannot wait for Ctrl-C"),
            served = async {
                ready(&format!("http://{address}/{token}/"))?;
                accept(&listener, &app).await;
                Ok(())
            } => served,
        }
    })
}

/// Answers whoever connects. Those who say nothing are not waited for.
async fn accept(listener: &TcpListener, app: &Router) {
    loop {
        // If there are too many open files, some will be closed.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BEAT).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD);
            // Whoever hangs up in the middle misses the answer.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// 128 random bits, for an address that nobody guesses.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn router(workspace: Workspace, token: &str, port: u16) -> Router {
    let hosts = Arc::new([format!("127.0.0.1:{port}"), format!("localhost:{port}")]);
    let shared = Shared { workspace: Arc::new(workspace), hosts };
    let session = "/api/sessions/{id}";
    let at = format!("{session}/{{run}}/{{at}}");
    let inside = Router::new()
        .route("/{*name}", get(|Path(name): Path<String>| async move { page(&name) }))
        .route("/api/home", get(show_home))
        .route("/api/sessions", post(open))
        .route(session, delete(close))
        .route(&format!("{session}/liars"), post(liars))
        .route(&format!("{session}/{{run}}"), get(show_run))
        .route(&at, get(show_moment))
        .route(&format!("{at}/lies"), get(show_lies))
        .route(&format!("{at}/story"), get(show_story))
        .route(&format!("{at}/act"), post(act))
        .route(&format!("{at}/go"), post(go))
        .route(&format!("{at}/fork"), post(fork))
        .route(&format!("{at}/export/{{name}}"), get(export_file))
        .route("/api/campaigns", post(hunt))
        .route("/api/campaigns/{id}/stop", post(stop))
        .route("/api/campaigns/{id}/events", get(events))
        .route("/api/reports/{*file}", get(show_report));
    Router::new()
        .route(&format!("/{token}/"), get(|| async { page("index.html") }))
        .nest(&format!("/{token}"), inside)
        .fallback(|| async {
            (
                StatusCode::FORBIDDEN,
                "missing or wrong token: open the address that `turncoat explore` printed\n",
            )
        })
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Refuses what does not come from the page, and says what the page may do.
async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    if !is_own(&shared.hosts, request.headers()) {
        return (StatusCode::FORBIDDEN, "only the explorer's own page may send requests\n").into_response();
    }
    let answer = tokio::time::timeout(ANSWER, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| {
        let seconds = ANSWER.as_secs();
        Trouble::Slow(format!("stopped: it took longer than {seconds} s")).into_response()
    });
    let headers = response.headers_mut();
    let policies = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in policies {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whether a request is for this server, and comes from its page or from no page at all.
fn is_own(hosts: &[String; 2], headers: &HeaderMap) -> bool {
    let said = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let own = |host: &str| hosts.iter().any(|own| own == host);
    let from_here = |origin: &str| origin.strip_prefix("http://").is_some_and(own);
    said(header::HOST).is_some_and(own) && said(header::ORIGIN).is_none_or(from_here)
}

/// A file of the page.
fn page(name: &str) -> Response {
    let Some(file) = Page::get(name) else {
        return Trouble::Missing(format!("there is no {name}")).into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    ([(header::CONTENT_TYPE, kind)], Body::from(file.data.into_owned())).into_response()
}

/// Text as it may stand in an address.
pub(super) fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len() * 2), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
        encoded
    })
}

/// Does what takes a while where nobody waits for it. If the client hangs up, or its time is over, the work is told.
async fn work<T: Send + 'static>(
    shared: Shared,
    work: impl FnOnce(&Workspace, &Waiting) -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let waiting = Waiting::default();
    // Whatever happens to the request, this is dropped with it.
    let _client = waiting.client();
    let done = tokio::task::spawn_blocking(move || work(&shared.workspace, &waiting)).await;
    done.unwrap_or_else(|_| Err(Trouble::Refused("a bug in turncoat itself, please report it".to_owned())))
}

async fn answer<T: Serialize + Send + 'static>(
    shared: Shared,
    what: impl FnOnce(&Workspace, &Waiting) -> Result<T, Trouble> + Send + 'static,
) -> Answer<T> {
    work(shared, what).await.map(axum::Json)
}

/// What a request says.
fn read<T>(body: Posted<T>) -> Result<T, Trouble> {
    body.map(|axum::Json(body)| body).map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Trouble::TooLong(format!("a request has at most {BODY} bytes")),
        _ => Trouble::Bad(error.body_text()),
    })
}

async fn show_home(State(shared): State<Shared>) -> Answer<home::Home> {
    answer(shared, |workspace, _| home::home(workspace)).await
}

async fn open(State(shared): State<Shared>, open: Posted<Open>) -> Answer<Value> {
    let open = read(open)?;
    answer(shared, move |workspace, waiting| {
        workspace.open(&open, waiting).map(|session| json!({ "session": session }))
    })
    .await
}

async fn close(State(shared): State<Shared>, Path(id): Path<String>) -> Result<StatusCode, Trouble> {
    shared.workspace.close(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Liars {
    byzantine: Vec<String>,
}

async fn liars(State(shared): State<Shared>, Path(id): Path<String>, liars: Posted<Liars>) -> Answer<Place> {
    let Liars { byzantine } = read(liars)?;
    let place = |()| Place { run: 0, at: 0, note: None };
    answer(shared, move |workspace, _| workspace.set_liars(&id, &byzantine).map(place)).await
}

async fn show_run(State(shared): State<Shared>, Path((id, run)): Path<(String, usize)>) -> Answer<view::Run> {
    answer(shared, move |workspace, _| view::run(&workspace.session(&id)?, &id, run, workspace.read_only))
        .await
}

/// A session, a run of it, a place in it.
type At = Path<(String, usize, usize)>;

async fn show_moment(State(shared): State<Shared>, Path((id, run, at)): At) -> Answer<moment::Moment> {
    answer(shared, move |workspace, _| moment::moment(&workspace.session(&id)?, run, at)).await
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

async fn show_lies(
    State(shared): State<Shared>,
    Path((id, run, at)): At,
    Query(Message { message }): Query<Message>,
) -> Answer<moment::Lies> {
    answer(shared, move |workspace, _| moment::lies(&workspace.session(&id)?, run, at, &message)).await
}

async fn show_story(State(shared): State<Shared>, Path((id, run, at)): At) -> Answer<moment::Story> {
    answer(shared, move |workspace, _| moment::story(&workspace.session(&id)?, run, at)).await
}

#[derive(Deserialize)]
struct Act {
    action: String,
}

async fn act(State(shared): State<Shared>, Path((id, run, at)): At, act: Posted<Act>) -> Answer<Place> {
    let Act { action } = read(act)?;
    answer(shared, move |workspace, _| workspace.change(&id, |session| session.act(run, at, &action))).await
}

#[derive(Deserialize)]
struct Go {
    until: Until,
    steps: Option<usize>,
}

async fn go(State(shared): State<Shared>, Path((id, run, at)): At, go: Posted<Go>) -> Answer<Place> {
    let Go { until, steps } = read(go)?;
    let steps = steps.unwrap_or(1);
    answer(shared, move |workspace, waiting| {
        workspace.change(&id, |session| session.go(run, at, until, steps, waiting))
    })
    .await
}

#[derive(Deserialize)]
struct Fork {
    name: String,
}

async fn fork(State(shared): State<Shared>, Path((id, run, at)): At, fork: Posted<Fork>) -> Answer<Place> {
    let Fork { name } = read(fork)?;
    answer(shared, move |workspace, _| workspace.change(&id, |session| session.fork(run, at, &name))).await
}

async fn export_file(
    State(shared): State<Shared>,
    Path((id, run, at, name)): Path<(String, usize, usize, String)>,
) -> Result<impl IntoResponse, Trouble> {
    let attachment = format!("attachment; filename=\"{name}\"");
    let export =
        move |workspace: &Workspace, _: &Waiting| export::file(&workspace.session(&id)?, &id, run, at, &name);
    let (kind, text) = work(shared, export).await?;
    let attachment = HeaderValue::from_str(&attachment).unwrap_or(HeaderValue::from_static("attachment"));
    Ok((
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::CONTENT_DISPOSITION, attachment)],
        text,
    ))
}

async fn hunt(State(shared): State<Shared>, hunt: Posted<Hunt>) -> Answer<Value> {
    let hunt = read(hunt)?;
    answer(shared, move |workspace, _| {
        if workspace.read_only {
            return Err(Trouble::Refused("this explorer is read-only".to_owned()));
        }
        workspace.hunts.start(&hunt).map(|campaign| json!({ "campaign": campaign }))
    })
    .await
}

async fn stop(State(shared): State<Shared>, Path(id): Path<String>) -> Result<StatusCode, Trouble> {
    shared.workspace.hunts.get(&id)?.stop();
    Ok(StatusCode::NO_CONTENT)
}

async fn events(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Trouble> {
    let hunted = shared.workspace.hunts.get(&id)?;
    // After the last word nothing follows.
    let beats = stream::unfold((hunted, false), |(hunted, over)| async move {
        if over {
            return None;
        }
        let campaign = hunted.campaign();
        let event = Event::default().json_data(&campaign).unwrap_or_default();
        if !campaign.done {
            tokio::time::sleep(BEAT).await;
        }
        Some((Ok(event), (hunted, campaign.done)))
    });
    Ok(Sse::new(beats).keep_alive(KeepAlive::default()))
}

async fn show_report(
    State(shared): State<Shared>,
    Path(file): Path<String>,
) -> Result<impl IntoResponse, Trouble> {
    let html = work(shared, move |_, _| {
        if !home::files().iter().any(|known| known.name == file && known.kind == "database") {
            return Err(Trouble::Missing(format!("there is no database {file} in the list")));
        }
        let report = report::read(std::path::Path::new(&file), &turncoat_lab::report::Wishes::default())?;
        turncoat_lab::report::html(&report).map_err(|error| Trouble::Bad(error.to_string()))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    Ok((headers, html.await?))
}
