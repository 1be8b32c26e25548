//! Flags: the deviations from a correct protocol, each a known bug that can be switched on by name.
//!
//! In code a flag is a boolean in snake_case; in files and on the command line it is a name in kebab-case, in a list:
//!
//! ```
//! turncoat_core::flags! {
//!     /// What may be wrong.
//!     pub struct Flags {
//!         unsigned_votes: "signatures are not checked",
//!     }
//! }
//! let flags: Flags = serde_json::from_str(r#"["unsigned-votes"]"#)?;
//! assert!(flags.unsigned_votes);
//! assert_eq!(flags, Flags::all());
//! assert_eq!(Flags::ALL[0].about, "signatures are not checked");
//! # Ok::<(), serde_json::Error>(())
//! ```

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A named deviation from the correct protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name in code, in snake_case.
    pub field: &'static str,
    /// Which rule it breaks, in one line.
    pub about: &'static str,
}

impl Flag {
    /// Its name in files, in kebab-case.
    pub fn name(&self) -> String {
        self.field.replace('_', "-")
    }
}

/// The configuration of a protocol that has flags and no other parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnlyFlags<F: Default> {
    /// What is switched on.
    pub flags: F,
}

/// Makes a struct of flags, with the table `ALL` of their names and descriptions.
///
/// Each flag is a name, a colon, one line about the rule that it breaks, and a comma:
///
/// ```
/// turncoat_core::flags! {
///     pub struct Flags {
///         unsigned_votes: "signatures are not checked",
///         small_quorum: "f+1 votes decide"
///     }
/// }
/// assert_eq!(Flags::ALL.len(), 2);
/// ```
///
/// Without the comma between two flags the compiler says what a flag looks like:
///
/// ```compile_fail
/// turncoat_core::flags! {
///     pub struct Flags {
///         unsigned_votes: "signatures are not checked"
///         small_quorum: "f+1 votes decide",
///     }
/// }
/// ```
#[macro_export]
macro_rules! flags {
    ($(#[$meta:meta])* $vis:vis struct $Flags:ident { $($flag:ident: $about:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        $vis struct $Flags { $(#[doc = $about] $vis $flag: bool,)* }

        impl $Flags {
            /// All flags.
            $vis const ALL: &'static [$crate::flags::Flag] =
                &[$($crate::flags::Flag { field: stringify!($flag), about: $about }),*];

            /// All of them switched on.
            #[allow(dead_code, reason = "not every protocol has such a variant")]
            $vis const fn all() -> Self {
                Self { $($flag: true),* }
            }
        }

        impl $crate::serde::Serialize for $Flags {
            fn serialize<S: $crate::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                $crate::flags::write(Self::ALL, &[$(self.$flag),*], s)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $Flags {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let mut flags = Self::default();
                $crate::flags::read(Self::ALL, &mut [$(&mut flags.$flag),*], d)?;
                Ok(flags)
            }
        }
    };
    ($($other:tt)*) => {
        compile_error!(
            "flags! takes a struct of flags, each with one line about it and a comma after it: \
             `pub struct Flags { unsigned_votes: \"signatures are not checked\", }`"
        );
    };
}

#[doc(hidden)]
pub fn write<S: Serializer>(all: &[Flag], on: &[bool], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(all.iter().zip(on).filter(|(_, on)| **on).map(|(flag, _)| flag.name()))
}

#[doc(hidden)]
pub fn read<'de, D: Deserializer<'de>>(all: &[Flag], on: &mut [&mut bool], d: D) -> Result<(), D::Error> {
    for name in Vec::<String>::deserialize(d)? {
        match all.iter().position(|flag| flag.name() == name) {
            Some(index) => *on[index] = true,
            None => {
                let known: Vec<String> = all.iter().map(Flag::name).collect();
                return Err(D::Error::custom(format!("no flag `{name}`. There are: {}", known.join(", "))));
            }
        }
    }
    Ok(())
}
