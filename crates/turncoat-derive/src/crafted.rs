//! Lies that fit together: which fields follow from which, and the methods of `Part` that tell such lies.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

use crate::members::Member;

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

/// The bodies of `Part::crafts` and `Part::craft`.
pub(crate) fn crafted(members: &[Member]) -> (TokenStream, TokenStream) {
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

#[cfg(test)]
mod tests {
    use super::followers;
    use crate::members::{Member, members};

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
}
