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

mod test;

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Ident, ItemFn, Lit, Meta,
    MetaNameValue, Result, parse_macro_input,
};

/// Derives `Part` for a struct inside a message; the page of `turncoat::Part` lists its attributes.
#[proc_macro_derive(Part, attributes(part))]
pub fn derive_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    part(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Message` and `Part` for an enum; the page of `turncoat::Message` lists its attributes.
#[proc_macro_derive(Message, attributes(message, part))]
pub fn derive_message(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A test that fuzzes a protocol; the page of `turncoat::test` lists its keys.
#[proc_macro_attribute]
pub fn test(settings: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    test::expand(settings.into(), &function).unwrap_or_else(Error::into_compile_error).into()
}

/// One field: how code binds it, how tables and traces call it.
struct Member {
    binding: Ident,
    path: String,
    label: String,
    about: String,
    skip: bool,
    /// What it has to be for the others to fit.
    follows: Option<Expr>,
    ty: syn::Type,
}

/// The field of a variant or struct, with its `#[part(...)]` read.
fn member(field: &Field, index: usize, lone: bool) -> Result<Member> {
    let name = field.ident.as_ref().map(|name| kebab(&name.to_string()));
    let binding = match &field.ident {
        Some(name) => name.clone(),
        None if lone => Ident::new("m", Span::call_site()),
        None => format_ident!("m{index}"),
    };
    // The only field of a tuple variant has no name of its own: `prepare.view`, not `prepare.0.view`.
    let path = match &name {
        Some(name) => format!(".{name}"),
        None if lone => String::new(),
        None => format!(".{index}"),
    };
    let mut member = Member {
        binding,
        path,
        label: name.unwrap_or_default(),
        about: about(&field.attrs),
        skip: false,
        follows: None,
        ty: field.ty.clone(),
    };
    for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("part")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("follows") {
                member.follows = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("skip") {
                member.skip = true;
            } else {
                return Err(meta.error("expected `skip` or `follows = ..`"));
            }
            Ok(())
        })?;
    }
    Ok(member)
}

impl Member {
    /// Whether it follows from this other field.
    fn follows_from(&self, other: &Self) -> bool {
        let mentions = |expr: &Expr| mentions(quote!(#expr), &other.binding);
        other.binding != self.binding && self.follows.as_ref().is_some_and(mentions)
    }

    /// Whether its type is called `View`.
    fn is_view(&self) -> bool {
        matches!(&self.ty, syn::Type::Path(ty) if ty.path.segments.last().is_some_and(|last| last.ident == "View"))
    }
}

/// Whether a name occurs in some code, other than as a field or method of something.
fn mentions(code: TokenStream, name: &Ident) -> bool {
    let mut after_dot = false;
    code.into_iter().any(|token| {
        let member =
            std::mem::replace(&mut after_dot, matches!(&token, TokenTree::Punct(p) if p.as_char() == '.'));
        match token {
            TokenTree::Ident(ident) => ident == *name && !member,
            TokenTree::Group(group) => mentions(group.stream(), name),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        }
    })
}

/// The fields that follow from one, directly or through others, each after those that it follows from.
fn followers<'a>(members: &'a [Member], source: &Member) -> Vec<&'a Member> {
    let mut all: Vec<&Member> = Vec::new();
    loop {
        let known = all.len();
        for member in members.iter().filter(|m| m.binding != source.binding) {
            let from = member.follows_from(source) || all.iter().any(|other| member.follows_from(other));
            if from && all.iter().all(|other| other.binding != member.binding) {
                all.push(member);
            }
        }
        if all.len() == known {
            break;
        }
    }
    let mut ordered: Vec<&Member> = Vec::new();
    while !all.is_empty() {
        let free = all.iter().position(|m| !all.iter().any(|other| m.follows_from(other)));
        ordered.push(all.remove(free.unwrap_or(0)));
    }
    ordered
}

/// The first line of the documentation, as a part of a sentence.
fn about(attrs: &[Attribute]) -> String {
    let line = attrs.iter().filter(|attr| attr.path().is_ident("doc")).find_map(|attr| match &attr.meta {
        Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(line), .. }), .. }) => {
            Some(line.value())
        }
        _ => None,
    });
    let line = line.unwrap_or_default();
    let mut chars = line.trim().trim_end_matches('.').chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn members(fields: &Fields) -> Result<Vec<Member>> {
    fields.iter().enumerate().map(|(i, field)| member(field, i, fields.len() == 1)).collect()
}

/// `{ a, b }`, `(m)` or nothing: the pattern that binds every member, with `prefix` before each name.
fn pattern(fields: &Fields, members: &[Member], prefix: &str) -> TokenStream {
    let names = members.iter().map(|m| &m.binding);
    let bound: Vec<Ident> = members.iter().map(|m| format_ident!("{prefix}{}", m.binding)).collect();
    match fields {
        Fields::Named(_) if prefix.is_empty() => quote!({ #(#names),* }),
        Fields::Named(_) => quote!({ #(#names: #bound),* }),
        Fields::Unnamed(_) => quote!(( #(#bound),* )),
        Fields::Unit => quote!(),
    }
}

/// The bodies of the methods of `Part` over bound members.
struct Bodies {
    rows: TokenStream,
    count: TokenStream,
    mutate: TokenStream,
    describe: TokenStream,
    letters: TokenStream,
    changes: TokenStream,
    fields: TokenStream,
    edit: TokenStream,
    numbers: TokenStream,
    number: TokenStream,
    requests: TokenStream,
    substitute: TokenStream,
    crafts: TokenStream,
    craft: TokenStream,
    look: TokenStream,
}

/// The bodies of `Part::crafts` and `Part::craft`.
fn crafted(members: &[Member]) -> (TokenStream, TokenStream) {
    let views = members.iter().filter(|m| m.is_view()).count();
    let rest: Vec<&Member> = members.iter().filter(|m| !m.is_view()).collect();
    let [mut rows, mut arms] = [const { Vec::new() }; 2];
    for (i, m) in members.iter().enumerate().filter(|(_, m)| !m.skip) {
        let (name, ty, path, i) = (&m.binding, &m.ty, &m.path, i as u8);
        let earlier = format_ident!("earlier_{name}");
        if path.is_empty() {
            let inside = if m.label.is_empty() { quote!(depth) } else { quote!(depth.field()) };
            rows.push(quote! { return <#ty as Part>::crafts(#inside, path, place, found); });
            arms.push(quote! { return <#ty as Part>::craft(#name, craft_at, #earlier, liar); });
            continue;
        }
        rows.push(quote! {
            place.push(#i);
            <#ty as Part>::crafts(depth.field(), &format!("{path}{}", #path), place, found);
            place.pop();
        });
        let followers = followers(members, m);
        let suffix: String = followers.iter().map(|m| m.path.replacen('.', "+", 1)).collect();
        if !followers.is_empty() {
            rows.push(quote! {
                let known = found.len();
                place.push(#i | FOLLOW);
                <#ty as Part>::crafts(depth.field().followed(), &format!("{path}{}", #path), place, found);
                place.pop();
                with_followers(&mut found[known..], #suffix);
            });
        }
        let all = members.iter().map(|m| &m.binding);
        let settled = followers.iter().map(|follower| {
            let (name, ty, expr) = (&follower.binding, &follower.ty, &follower.follows);
            let all = all.clone();
            quote! {
                let fitting: Option<#ty> = {
                    #(let #all = &*#all;)*
                    ::core::convert::Into::into(#expr)
                };
                if let Some(fitting) = fitting { *#name = fitting; }
            }
        });
        arms.push(quote! {
            if let [craft_step, craft_rest @ ..] = craft_at {
                if craft_step & !FOLLOW == #i {
                let changed = <#ty as Part>::craft(#name, craft_rest, #earlier, liar);
                if changed && craft_step & FOLLOW != 0 { #(#settled)* }
                return changed;
                }
            }
        });
    }
    if views > 0 && !rest.is_empty() {
        let names: Vec<&Ident> = rest.iter().map(|m| &m.binding).collect();
        let earlier: Vec<Ident> = names.iter().map(|name| format_ident!("earlier_{name}")).collect();
        rows.insert(
            0,
            quote! {
                if depth.is_body() { craft_row(found, path, ".rest=older", place, REST); }
            },
        );
        arms.push(quote! {
            if let ([REST], #(Some(#earlier)),*) = (craft_at, #(#earlier),*) {
                #(#names.clone_from(#earlier);)*
                return true;
            }
        });
    }
    (quote! { #(#rows)* }, quote! { #(#arms)* })
}

fn bodies(members: &[Member]) -> Bodies {
    let mutable: Vec<&Member> = members.iter().filter(|m| !m.skip).collect();
    let types: Vec<&syn::Type> = mutable.iter().map(|m| &m.ty).collect();
    let names: Vec<&Ident> = mutable.iter().map(|m| &m.binding).collect();
    let earlier: Vec<Ident> = names.iter().map(|name| format_ident!("earlier_{name}")).collect();
    let paths = mutable.iter().map(|m| &m.path);
    let path = |m: &Member| if m.label.is_empty() { m.path.clone() } else { format!(".{}", m.label) };
    let changes = members.iter().map(|m| {
        let (name, ty, path) = (&m.binding, &m.ty, path(m));
        let lie = format_ident!("earlier_{name}");
        quote! { <#ty as Part>::changes(#name, #lie, &format!("{path}{}", #path), found); }
    });
    let fields = members.iter().map(|m| {
        let (name, ty, path) = (&m.binding, &m.ty, path(m));
        quote! { <#ty as Part>::fields(#name, &format!("{path}{}", #path), found); }
    });
    let edit = members.iter().map(|m| {
        let (name, ty, path) = (&m.binding, &m.ty, path(m));
        if path.is_empty() {
            return quote! { return <#ty as Part>::edit(#name, edited, new_value, liar_keys); };
        }
        quote! { if let Some(rest) = below(edited, #path) { return <#ty as Part>::edit(#name, rest, new_value, liar_keys); } }
    });
    let numbers = members.iter().enumerate().map(|(i, m)| {
        let (ty, path, i) = (&m.ty, path(m), i as u8);
        if path.is_empty() {
            return quote! { <#ty as Part>::numbers(depth, path, place, found); };
        }
        quote! {
            place.push(#i);
            <#ty as Part>::numbers(depth, &format!("{path}{}", #path), place, found);
            place.pop();
        }
    });
    let number = members.iter().enumerate().map(|(i, m)| {
        let (name, ty, i) = (&m.binding, &m.ty, i as u8);
        if path(m).is_empty() {
            return quote! { return <#ty as Part>::number(#name, number_at); };
        }
        quote! { if let [#i, rest @ ..] = number_at { return <#ty as Part>::number(#name, rest); } }
    });
    let described = members.iter().enumerate().map(|(i, m)| {
        let (name, ty) = (&m.binding, &m.ty);
        let space = if i == 0 { "" } else { " " };
        let lead = if m.label.is_empty() { space.to_owned() } else { format!("{space}{}=", m.label) };
        quote! { f.write_str(#lead)?; <#ty as Part>::describe(#name, f)?; }
    });
    let letters = members.iter().map(|Member { label, about, ty, .. }| {
        // A label that says its own name needs no words.
        let own = (!about.is_empty() && about != label).then(|| quote!(found.push((#label, #about));));
        quote! { #own <#ty as Part>::letters(found); }
    });
    let looked = members.iter().map(|m| {
        let (name, ty) = (&m.binding, &m.ty);
        quote!(<#ty as Part>::look(#name, seen_enough))
    });
    let (crafts, craft) = crafted(members);
    Bodies {
        crafts,
        craft,
        look: quote! { false #(|| #looked)* },
        rows: quote! { #(<#types as Part>::mutations(depth, &format!("{path}{}", #paths), table);)* },
        count: quote! { 0 #(+ <#types as Part>::count(depth))* },
        mutate: quote! {
            #(
                let count = <#types as Part>::count(depth);
                if index < count {
                    return <#types as Part>::mutate(#names, depth, index, #earlier, liar);
                }
                index -= count;
            )*
        },
        describe: quote! { #(#described)* },
        letters: quote! { #(#letters)* },
        changes: quote! { #(#changes)* },
        fields: quote! { #(#fields)* },
        edit: quote! { #(#edit)* },
        numbers: quote! { #(#numbers)* },
        number: quote! { #(#number)* },
        requests: quote! { #(<#types as Part>::requests(#names, found);)* },
        substitute: quote! { #(changed |= <#types as Part>::substitute(#names, old, new, keys);)* },
    }
}

/// The names in `#[part(labels(...))]` on a struct.
fn labels(attrs: &[Attribute]) -> Result<Vec<Ident>> {
    let mut labels = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("part")) {
        attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("labels") {
                return Err(meta.error("expected `labels(...)`"));
            }
            meta.parse_nested_meta(|label| {
                labels.push(label.path.require_ident()?.clone());
                Ok(())
            })
        })?;
    }
    Ok(labels)
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
        use #kernel::part::{
            Change, Craft, Depth, FOLLOW, Letter, Liar, Mutation, Part, REST, below, craft_row, no_field, with_followers,
        };
        #[allow(unused_imports)]
        use #kernel::{client::Request, ids::{NodeSet, Slot}, message::{Message, RoundKey}, sign::Signed};
    }
}

fn fields_in_words(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

fn part(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "Part is for structs; an enum of messages derives Message"));
    };
    let mut members = members(&data.fields)?;
    let labels = labels(&input.attrs)?;
    // Beside the implementation: its absence would be a second error.
    let surplus = labels.get(members.len()).map(|label| {
        let why =
            format!("{} labels for {}: leave `{label}` out", labels.len(), fields_in_words(members.len()));
        Error::new(label.span(), why).into_compile_error()
    });
    for (member, label) in members.iter_mut().zip(labels) {
        member.label = label.to_string();
    }
    let Bodies {
        rows,
        count,
        mutate,
        describe,
        letters,
        changes,
        fields,
        edit,
        numbers,
        number,
        requests,
        substitute,
        crafts,
        craft,
        look,
    } = bodies(&members);
    let (own, other) = (pattern(&data.fields, &members, ""), pattern(&data.fields, &members, "earlier_"));
    let earlier: Vec<Ident> = members.iter().map(|m| format_ident!("earlier_{}", m.binding)).collect();
    // Expressions may ask what was there before the edit.
    let asks =
        |m: &Member| m.follows.as_ref().is_some_and(|expr| mentions(quote!(#expr), &format_ident!("before")));
    let before = if members.iter().any(asks) { quote!(let before = &self.clone();) } else { quote!() };
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let (imports, kernel) = (imports(), kernel());
    Ok(quote! {
        #surplus
        const _: () = {
            #imports
            #[automatically_derived]
            #[allow(unused_variables, unused_mut, unused_assignments, unreachable_code)]
            impl #generics Part for #name #arguments #bounds {
                fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) { #rows }
                fn count(depth: Depth) -> usize { #count }
                fn mutate(
                    &mut self, depth: Depth, mut index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>,
                ) -> bool {
                    let Self #own = self;
                    let (#(#earlier,)*) = match earlier {
                        Some(Self #other) => (#(Some(#earlier),)*),
                        None => Default::default(),
                    };
                    #mutate
                    false
                }
                fn describe(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    let Self #own = self;
                    #describe
                    Ok(())
                }
                fn letters(found: &mut Vec<Letter>) { #letters }
                fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
                    let (Self #own, Self #other) = (self, lie);
                    #changes
                }
                fn fields(&self, path: &str, found: &mut Vec<(String, String)>) { let Self #own = self; #fields }
                fn edit(&mut self, edited: &str, new_value: &str, liar_keys: NodeSet) -> Result<(), String> {
                    let Self #own = self;
                    #edit
                    no_field(edited)
                }
                fn numbers(
                    depth: Depth, path: &str, place: &mut #kernel::part::Place,
                    found: &mut Vec<#kernel::part::Number>,
                ) {
                    #numbers
                }
                fn number(&self, number_at: &[u8]) -> Option<u64> {
                    let Self #own = self;
                    #number
                    None
                }
                fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) { let Self #own = self; #requests }
                fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
                    let Self #own = self;
                    let mut changed = false;
                    #substitute
                    changed
                }
                fn crafts(
                    depth: Depth, path: &str, place: &mut #kernel::part::Place, found: &mut Vec<Craft>,
                ) {
                    #crafts
                }
                fn craft(&mut self, craft_at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
                    #before
                    let Self #own = self;
                    let (#(#earlier,)*) = match earlier {
                        Some(Self #other) => (#(Some(#earlier),)*),
                        None => Default::default(),
                    };
                    #craft
                    false
                }
                fn look(&self, seen_enough: &mut dyn FnMut(&dyn ::std::any::Any) -> bool) -> bool {
                    let Self #own = self;
                    seen_enough(self) || #look
                }
            }
        };
    })
}

/// What `#[message(...)]` says about a variant.
#[derive(Default)]
struct Round {
    view: Option<Expr>,
    slot: Option<Expr>,
    phase: Option<Expr>,
    view_change: bool,
}

fn round(attrs: &[Attribute]) -> Result<Round> {
    let mut round = Round::default();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("message")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("view_change") {
                round.view_change = true;
                return Ok(());
            }
            let place = match () {
                () if meta.path.is_ident("view") => &mut round.view,
                () if meta.path.is_ident("slot") => &mut round.slot,
                () if meta.path.is_ident("phase") => &mut round.phase,
                () => return Err(meta.error("expected `view`, `slot`, `phase` or `view_change`")),
            };
            *place = Some(meta.value()?.parse()?);
            Ok(())
        })?;
        if round.phase.is_some() != round.view.is_some() {
            return Err(Error::new(attr.span(), "a round needs both `view = ...` and `phase = ...`"));
        }
    }
    Ok(round)
}

fn specials(attrs: &[Attribute]) -> Result<TokenStream> {
    let mut path = quote!(&[]);
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("message")) {
        attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("specials") {
                return Err(meta.error("expected `specials = PATH`"));
            }
            let expr: Expr = meta.value()?.parse()?;
            path = quote!(#expr);
            Ok(())
        })?;
    }
    Ok(path)
}

fn message(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "Message is for enums; a struct inside a message derives Part"));
    };
    let specials = specials(&input.attrs)?;
    let mut kinds = Vec::new();
    let mut view_changes = Vec::new();
    let [mut kind_arms, mut round_arms, mut slot_arms, mut row_arms, mut count_arms] =
        [const { Vec::new() }; 5];
    let mut letters_of_all = Vec::new();
    let [mut mutate_arms, mut describe_arms, mut change_arms, mut request_arms, mut substitute_arms] =
        [const { Vec::new() }; 5];
    let [mut field_arms, mut edit_arms, mut numbers_arms, mut number_arms] = [const { Vec::new() }; 4];
    let [mut crafts_arms, mut craft_arms, mut look_arms] = [const { Vec::new() }; 3];
    for (i, variant) in data.variants.iter().enumerate() {
        let (name, index, kind) = (&variant.ident, i as u8, kebab(&variant.ident.to_string()));
        let members = members(&variant.fields)?;
        let (own, other) =
            (pattern(&variant.fields, &members, ""), pattern(&variant.fields, &members, "earlier_"));
        let earlier: Vec<Ident> = members.iter().map(|m| format_ident!("earlier_{}", m.binding)).collect();
        let Bodies {
            rows,
            count,
            mutate,
            describe,
            letters,
            changes,
            fields,
            edit,
            numbers,
            number,
            requests,
            substitute,
            crafts,
            craft,
            look,
        } = bodies(&members);
        let round = round(&variant.attrs)?;
        let slot = round.slot.as_ref().map_or(quote!(None), |slot| quote!(Some(#slot)));
        let slot_or_zero = round.slot.as_ref().map_or(quote!(Default::default()), |slot| quote!(#slot));
        let key = match (&round.view, &round.phase) {
            (Some(view), Some(phase)) => {
                quote!(Some(RoundKey { view: #view, slot: #slot_or_zero, phase: #phase }))
            }
            _ => quote!(None),
        };
        let lead = if members.is_empty() { kind.clone() } else { format!("{kind} ") };
        kind_arms.push(quote!(Self::#name { .. } => #index,));
        round_arms.push(quote!(Self::#name #own => #key,));
        slot_arms.push(quote!(Self::#name #own => #slot,));
        row_arms.push(quote!(#index => { let path = #kind; #rows }));
        count_arms.push(quote!(#index => #count,));
        mutate_arms.push(quote!(Self::#name #own => {
            let (#(#earlier,)*) = match earlier {
                Some(Self::#name #other) => (#(Some(#earlier),)*),
                _ => Default::default(),
            };
            #mutate
        }));
        letters_of_all.push(letters);
        describe_arms.push(quote!(Self::#name #own => { f.write_str(#lead)?; #describe }));
        change_arms.push(quote!((Self::#name #own, Self::#name #other) => { #changes }));
        field_arms.push(quote!(Self::#name #own => { #fields }));
        edit_arms.push(quote!(Self::#name #own => { #edit }));
        numbers_arms.push(quote!(#index => { #numbers }));
        number_arms.push(quote!(Self::#name #own => { #number }));
        request_arms.push(quote!(Self::#name #own => { #requests }));
        substitute_arms.push(quote!(Self::#name #own => { #substitute }));
        crafts_arms.push(quote!(#index => { let path = #kind; #crafts }));
        craft_arms.push(quote!(Self::#name #own => {
            let (#(#earlier,)*) = match earlier {
                Some(Self::#name #other) => (#(Some(#earlier),)*),
                _ => Default::default(),
            };
            #craft
        }));
        look_arms.push(quote!(Self::#name #own => #look,));
        kinds.push(kind);
        view_changes.push(round.view_change);
    }
    let name = &input.ident;
    let (imports, kernel) = (imports(), kernel());
    Ok(quote! {
        const _: () = {
            #imports
            use #kernel::message::{Special, special_rows};

            #[automatically_derived]
            #[allow(unused_variables)]
            impl Message for #name {
                const KINDS: &'static [&'static str] = &[#(#kinds),*];
                const VIEW_CHANGE: &'static [bool] = &[#(#view_changes),*];
                fn kind(&self) -> u8 { match self { #(#kind_arms)* } }
                fn round(&self) -> Option<RoundKey> { match self { #(#round_arms)* } }
                fn slot(&self) -> Option<Slot> { match self { #(#slot_arms)* } }
                fn mutations_of(kind: u8, table: &mut Vec<Mutation>) {
                    let depth = Depth::default();
                    match kind {
                        #(#row_arms)*
                        _ => {}
                    }
                    let specials: &'static [Special<Self>] = #specials;
                    special_rows::<Self>(kind, specials, table);
                }
                fn numbers_of(kind: u8, found: &mut Vec<#kernel::part::Number>) {
                    let (depth, path, place) = (Depth::default(), "", &mut #kernel::part::Place::new());
                    match kind {
                        #(#numbers_arms)*
                        _ => {}
                    }
                }
                fn crafts_of(kind: u8, found: &mut Vec<Craft>) {
                    let (depth, place) = (Depth::default(), &mut #kernel::part::Place::new());
                    match kind {
                        #(#crafts_arms)*
                        _ => {}
                    }
                }
            }

            #[automatically_derived]
            #[allow(unused_variables, unused_mut, unused_assignments, clippy::needless_return)]
            impl Part for #name {
                fn mutations(_: Depth, _: &str, table: &mut Vec<Mutation>) {
                    (0..Self::KINDS.len() as u8).for_each(|kind| Self::mutations_of(kind, table));
                }
                fn count(_: Depth) -> usize {
                    let mut table = Vec::new();
                    <Self as Part>::mutations(Depth::default(), "", &mut table);
                    table.len()
                }
                fn mutate(
                    &mut self, depth: Depth, mut index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>,
                ) -> bool {
                    let kind = self.kind();
                    match self { #(#mutate_arms)* }
                    let specials: &'static [Special<Self>] = #specials;
                    let special = specials.iter().filter(|s| s.kind == Self::KINDS[usize::from(kind)]).nth(index);
                    special.is_some_and(|special| special.apply(self, earlier, liar))
                }
                fn describe(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    match self { #(#describe_arms)* }
                    Ok(())
                }
                fn letters(found: &mut Vec<Letter>) { #(#letters_of_all)* }
                fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
                    #[allow(unreachable_patterns)]
                    match (self, lie) {
                        #(#change_arms)*
                        // A lie is of the same kind.
                        _ => {}
                    }
                }
                fn fields(&self, path: &str, found: &mut Vec<(String, String)>) { match self { #(#field_arms)* } }
                fn edit(&mut self, edited: &str, new_value: &str, liar_keys: NodeSet) -> Result<(), String> {
                    match self { #(#edit_arms)* }
                    #[allow(unreachable_code)]
                    no_field(edited)
                }
                fn number(&self, number_at: &[u8]) -> Option<u64> {
                    match self { #(#number_arms)* }
                    #[allow(unreachable_code)]
                    None
                }
                fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) { match self { #(#request_arms)* } }
                fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
                    let mut changed = false;
                    match self { #(#substitute_arms)* }
                    changed
                }
                fn craft(&mut self, craft_at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
                    match self { #(#craft_arms)* }
                    #[allow(unreachable_code)]
                    false
                }
                fn look(&self, seen_enough: &mut dyn FnMut(&dyn ::std::any::Any) -> bool) -> bool {
                    match self { #(#look_arms)* }
                }
            }
        };
    })
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

#[cfg(test)]
mod tests {
    use super::{Member, followers, members, part};

    /// Each after those that it follows from, whatever their order in the struct; fields of others do not count.
    #[test]
    fn what_follows_from_a_field_is_found_in_order() {
        let block: syn::ItemStruct = syn::parse_str(
            "struct Block {
                #[part(follows = above(*parent))] height: Slot,
                #[part(follows = justify.parent)] parent: Digest,
                #[part(follows = other.justify)] alien: View,
                justify: Qc,
                other: Qc,
            }",
        )
        .expect("a struct");
        let members = members(&block.fields).expect("fields");
        let from = |i: usize| {
            let names = |m: &Member| m.binding.to_string();
            followers(&members, &members[i]).into_iter().map(names).collect::<Vec<_>>()
        };
        assert_eq!(from(3), ["parent", "height"]);
        assert_eq!((from(1), from(4)), (vec!["height".to_owned()], vec!["alien".to_owned()]));
        assert!(from(0).is_empty());
    }

    #[test]
    fn surplus_labels_are_an_error_beside_the_implementation() {
        let code = |labels: &str| {
            let text = format!("#[part(labels({labels}))] struct Vote {{ view: View }}");
            part(&syn::parse_str(&text).expect("a struct")).expect("code").to_string()
        };
        assert!(!code("v").contains("compile_error"));
        let surplus = code("v, n");
        assert!(surplus.contains("2 labels for 1 field: leave `n` out"), "{surplus}");
        assert!(surplus.contains("impl Part for Vote"), "{surplus}");
    }
}
