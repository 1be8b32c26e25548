//! turncoat-lab
