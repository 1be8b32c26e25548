//! The strokes of a picture, as SVG.

use std::fmt::{Display, Write};

/// The text of a picture.
#[derive(Default)]
pub(super) struct Svg(pub(super) String);

impl Svg {
    pub(super) fn add(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "{text}");
    }

    pub(super) fn text(&mut self, class: &str, x: u32, y: u32, text: impl Display) {
        let text = escaped(&text.to_string());
        self.add(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#));
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (u32, u32), (x2, y2): (u32, u32)) {
        self.add(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (u32, u32), (width, height): (u32, u32), round: u32) {
        self.add(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{round}"/>"#
        ));
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): (u32, u32), r: u32) {
        self.add(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
    }

    /// From a point on, as `d` has it.
    pub(super) fn path(&mut self, class: &str, (x, y): (u32, u32), d: &str) {
        self.add(format_args!(r#"<path class="{class}" d="M{x} {y}{d}"/>"#));
    }
}

/// Text inside of elements.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(|c: char| c.is_control(), " ")
}
