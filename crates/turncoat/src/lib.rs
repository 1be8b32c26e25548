//! turncoat
