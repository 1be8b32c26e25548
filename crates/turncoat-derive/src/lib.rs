//! `#[derive(Message)]` for a protocol's enum of messages and `#[derive(Part)]` for the structs inside them.
//!
//! They write what every protocol would otherwise write by hand: the kind of a message, its round, its line
//! in a trace, and the enumerable table of named mutations. Both are used through `turncoat-core`, whose
//! `part` module documents the table.
//!
//! ```ignore
//! #[derive(Clone, PartialEq, Serialize, Deserialize, Message)]
//! enum Msg {
//!     Request(Signed<Request>),
//!     #[message(view = m.view, slot = m.seq, phase = 1)]     // `m` is the variant's only field
//!     PrePrepare(Signed<PrePrepare>),
//!     #[message(view = *view, phase = 5, view_change)]       // named fields are bound by reference
//!     ViewChange { view: View, prepared: Vec<Proof> },
//! }
//!
//! #[derive(Clone, PartialEq, Serialize, Deserialize, Part)]
//! #[part(labels(v, n))]                                      // the fields' names in a trace, in order;
//! struct PrePrepare {
//!     /// The view.                                          // what is said to who does not know `v`
//!     view: View,
//!     seq: Slot,
//!     #[part(skip)] padding: u64,                            // no liar touches it
//!     #[part(follows = digest(request))]                     // what it has to be for the others to fit;
//!     digest: Digest,                                        // a crafted lie about `request` changes both
//!     request: Signed<Request>,
//! }
//! ```
//!
//! `#[message(specials = PATH)]` on the enum names a `&'static [Special<Self>]`: mutations that no single
//! field gives, such as a request exchanged together with its digest.
//!
//! `#[turncoat::test]` is here too, because attributes must be in a crate of this kind.

mod crafted;
mod members;
mod message;
mod part;
mod test;

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{DeriveInput, Error, Ident, ItemFn, parse_macro_input};

/// Derives `Part` for a struct inside a message; the page of `turncoat::Part` lists its attributes.
#[proc_macro_derive(Part, attributes(part))]
pub fn derive_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    part::part(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Message` and `Part` for an enum; the page of `turncoat::Message` lists its attributes.
#[proc_macro_derive(Message, attributes(message, part))]
pub fn derive_message(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::message(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A test that fuzzes a protocol; the page of `turncoat::test` lists its keys.
#[proc_macro_attribute]
pub fn test(settings: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    test::expand(settings.into(), &function).unwrap_or_else(Error::into_compile_error).into()
}

/// Where the deriving crate finds the kernel: directly, or through the facade.
fn kernel() -> TokenStream {
    match (crate_name("turncoat-core"), crate_name("turncoat")) {
        (Ok(FoundCrate::Name(name)), _) => {
            let name = Ident::new(&name, Span::call_site());
            quote!(::#name)
        }
        (Err(_), Ok(FoundCrate::Name(name))) => {
            let name = Ident::new(&name, Span::call_site());
            quote!(::#name::core)
        }
        // The kernel knows itself by its own name.
        _ => quote!(::turncoat_core),
    }
}

/// `use` lines for generated code.
fn imports() -> TokenStream {
    let kernel = kernel();
    quote! {
        #[allow(unused_imports)]
        use #kernel::{
            client::Request, ids::{NodeSet, Slot}, message::{Message, RoundKey}, sign::Signed,
            part::{
                Change, Craft, Depth, FOLLOW, Letter, Liar, Mutation, Part, REST, below, craft_row, no_field,
                with_followers,
            },
        };
    }
}

/// `PrePrepare` and `pre_prepare` as `pre-prepare`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.char_indices() {
        match c {
            '_' => out.push('-'),
            c if c.is_uppercase() => {
                out.push_str(if i > 0 { "-" } else { "" });
                out.extend(c.to_lowercase());
            }
            c => out.push(c),
        }
    }
    out
}
