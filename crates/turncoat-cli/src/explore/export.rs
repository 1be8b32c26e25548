//! A run as a file: a scenario, a schedule, a picture, or a page that stands alone.

use serde::Serialize;
use turncoat_lab::explain::Explanation;
use turncoat_lab::files;

use super::Trouble;
use super::moment::{Moment, Story, moment, story};
use super::server::{self, Page};
use super::session::Session;
use super::view::{self, Run};

/// The most places that a page which stands alone has.
const PLACES: usize = 600;

/// A file: its type, and its text.
pub(super) fn file(
    session: &Session,
    id: &str,
    run: usize,
    at: usize,
    name: &str,
) -> Result<(&'static str, String), Trouble> {
    let scenario = session.scenario.scripted(session.chosen(run, at)?.to_vec());
    let broken = |error: turncoat_core::scenario::ScenarioError| Trouble::Refused(error.to_string());
    match name {
        "scenario.toml" => {
            let outcome = session.entry.runner().execute(&scenario).map_err(broken)?;
            let scenario = files::expecting(&scenario, outcome.violations.first(), outcome.fingerprint);
            Ok(("application/toml", scenario.to_toml()))
        }
        "schedule.txt" => {
            let lines = scenario.scheduler.script.iter().map(|action| format!("{action}\n"));
            Ok(("text/plain; charset=utf-8", lines.collect()))
        }
        "chart.svg" => {
            Ok(("image/svg+xml", Explanation::of(session.entry, &scenario).map_err(broken)?.svg()))
        }
        "chart.mmd" => Ok((
            "text/plain; charset=utf-8",
            Explanation::of(session.entry, &scenario).map_err(broken)?.mermaid(),
        )),
        "page.html" => page(session, id, run).map(|page| ("text/html; charset=utf-8", page)),
        _ => Err(Trouble::Missing(format!(
            "no export {name}: there are scenario.toml, schedule.txt, chart.svg, chart.mmd and page.html"
        ))),
    }
}

/// What a page that stands alone has instead of a server.
#[derive(Serialize)]
struct Alone {
    run: Run,
    moments: Vec<Moment>,
    story: Story,
}

fn page(session: &Session, id: &str, run: usize) -> Result<String, Trouble> {
    let choices = session.runs.get(run).map_or(0, |chosen| chosen.actions.len());
    if choices > PLACES {
        return Err(Trouble::Refused(format!(
            "the run has {choices} choices, and a standalone page holds at most {PLACES}: fork it where it gets \
             interesting, or export the scenario"
        )));
    }
    let alone = Alone {
        run: view::run(session, id, run, true)?,
        moments: (0..=choices).map(|at| moment(session, run, at)).collect::<Result<_, _>>()?,
        story: story(session, run, choices)?,
    };
    let data = serde_json::to_string(&alone).map_err(|error| Trouble::Refused(error.to_string()))?;
    // Nothing in the data may end its element.
    Ok(inlined(&data.replace('<', "\\u003c")))
}

/// The page with its style, its modules and its data inside.
fn inlined(data: &str) -> String {
    let text = |name: &str| {
        Page::get(name).map_or_else(String::new, |file| String::from_utf8_lossy(&file.data).into_owned())
    };
    let bare = |module: &str| format!("turncoat/{module}");
    let mut imports = serde_json::Map::new();
    for module in Page::iter().filter(|name| name.ends_with(".js")) {
        let mut source = text(&module);
        for other in Page::iter().filter(|name| name.ends_with(".js")) {
            source = source.replace(&format!("\"./{other}\""), &format!("\"{}\"", bare(&other)));
        }
        let url = format!("data:text/javascript;charset=utf-8,{}", server::percent_encoded(&source));
        imports.insert(bare(&module), url.into());
    }
    let map = serde_json::json!({ "imports": imports });
    let head = format!("<style>{}</style>\n<script type=\"importmap\">{map}</script>", text("style.css"));
    let body = format!(
        "<script id=\"turncoat-data\" type=\"application/json\">{data}</script>\n\
         <script type=\"module\">import \"{}\";</script>",
        bare("app.js")
    );
    let mut page = String::new();
    for line in text("index.html").lines() {
        match line.trim() {
            line if line.starts_with("<link") => {
                page.push_str(if line.contains("style.css") { &head } else { "" });
            }
            line if line.starts_with("<script") => page.push_str(&body),
            _ => page.push_str(line),
        }
        page.push('\n');
    }
    page
}
