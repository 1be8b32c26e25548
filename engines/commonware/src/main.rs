//! The command `turncoat` with the simplex of commonware in it.
turncoat::registry![turncoat_commonware::Simplex; turncoat_commonware::terms()];
