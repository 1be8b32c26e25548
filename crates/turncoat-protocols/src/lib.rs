//! turncoat-protocols
