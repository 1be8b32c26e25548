//! `#[derive(Message)]`: kinds, rounds and slots, and `Part` for the enum.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Ident, Result};

use crate::members::{members, pattern};
use crate::part::{Bodies, bodies};
use crate::{imports, kebab, kernel};

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

pub(crate) fn message(input: &DeriveInput) -> Result<TokenStream> {
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
            #[allow(
                unused_variables, unused_mut, unused_assignments, unreachable_code, unreachable_patterns,
                clippy::needless_return
            )]
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
                    match (self, lie) {
                        #(#change_arms)*
                        // A lie is of the same kind.
                        _ => {}
                    }
                }
                fn fields(&self, path: &str, found: &mut Vec<(String, String)>) { match self { #(#field_arms)* } }
                fn edit(&mut self, edited: &str, new_value: &str, liar_keys: NodeSet) -> Result<(), String> {
                    match self { #(#edit_arms)* }
                    no_field(edited)
                }
                fn number(&self, number_at: &[u8]) -> Option<u64> {
                    match self { #(#number_arms)* }
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
                    false
                }
                fn look(&self, seen_enough: &mut dyn FnMut(&dyn ::std::any::Any) -> bool) -> bool {
                    match self { #(#look_arms)* }
                }
            }
        };
    })
}
