//! turncoat-cli
