//! Parameters of a protocol, each with its default: the `[protocol]` table of a scenario.
//!
//! In code a parameter is a field in snake_case; in files and on the command line it is a key in kebab-case:
//!
//! ```
//! turncoat_core::config! {
//!     /// How the protocol runs.
//!     pub struct Config {
//!         /// Executions between two checkpoints.
//!         pub checkpoint_every: u32 = 4,
//!     }
//! }
//! assert_eq!(Config::default().checkpoint_every, 4);
//! let config: Config = serde_json::from_str(r#"{ "checkpoint-every": 2 }"#)?;
//! assert_eq!(config.checkpoint_every, 2);
//! # Ok::<(), serde_json::Error>(())
//! ```

/// Makes a struct of parameters with their defaults. A key that it does not have is an error.
///
/// A parameter without a default does not compile, and the compiler says what is missing:
///
/// ```compile_fail
/// turncoat_core::config! {
///     pub struct Config {
///         pub checkpoint_every: u32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! config {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Config:ident {
            $($(#[$about:meta])* $field_vis:vis $field:ident: $type:ty = $default:expr),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        $vis struct $Config { $($(#[$about])* $field_vis $field: $type,)* }

        impl Default for $Config {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
    ($($other:tt)*) => {
        compile_error!(
            "config! takes a struct of parameters, each with its default and a comma after it: \
             `pub struct Config { pub timeout: Time = Time(100), }`"
        );
    };
}

/// A rule that parameters have to keep, for [`Protocol::validate`](crate::node::Protocol::validate).
///
/// # Errors
/// The rule, if it does not hold.
pub fn ensure(holds: bool, rule: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.into()) }
}
