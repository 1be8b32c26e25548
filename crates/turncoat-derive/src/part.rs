//! `#[derive(Part)]`, and the bodies of its methods, which messages share.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Ident, Result};

use crate::crafted::crafted;
use crate::members::{Member, members, mentions, pattern};
use crate::{imports, kernel};

/// The bodies of the methods of `Part` over bound members.
pub(crate) struct Bodies {
    pub(crate) rows: TokenStream,
    pub(crate) count: TokenStream,
    pub(crate) mutate: TokenStream,
    pub(crate) describe: TokenStream,
    pub(crate) letters: TokenStream,
    pub(crate) changes: TokenStream,
    pub(crate) fields: TokenStream,
    pub(crate) edit: TokenStream,
    pub(crate) numbers: TokenStream,
    pub(crate) number: TokenStream,
    pub(crate) requests: TokenStream,
    pub(crate) substitute: TokenStream,
    pub(crate) crafts: TokenStream,
    pub(crate) craft: TokenStream,
    pub(crate) look: TokenStream,
}

pub(crate) fn bodies(members: &[Member]) -> Bodies {
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

fn fields_in_words(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

pub(crate) fn part(input: &DeriveInput) -> Result<TokenStream> {
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

#[cfg(test)]
mod tests {
    use super::part;

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
