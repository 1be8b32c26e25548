//! turncoat-strategies
