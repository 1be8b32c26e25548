//! The fields of a struct or variant, as generated code binds them and as tables and traces call them.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{Attribute, Expr, ExprLit, Field, Fields, Ident, Lit, Meta, MetaNameValue, Result};

use crate::kebab;

/// One field: how code binds it, how tables and traces call it.
pub(crate) struct Member {
    pub(crate) binding: Ident,
    pub(crate) path: String,
    pub(crate) label: String,
    pub(crate) about: String,
    pub(crate) skip: bool,
    /// What it has to be for the others to fit.
    pub(crate) follows: Option<Expr>,
    pub(crate) ty: syn::Type,
}

impl Member {
    /// Whether it follows from this other field.
    pub(crate) fn follows_from(&self, other: &Self) -> bool {
        let mentions = |expr: &Expr| mentions(quote!(#expr), &other.binding);
        other.binding != self.binding && self.follows.as_ref().is_some_and(mentions)
    }

    /// Whether its type is called `View`.
    pub(crate) fn is_view(&self) -> bool {
        matches!(&self.ty, syn::Type::Path(ty) if ty.path.segments.last().is_some_and(|last| last.ident == "View"))
    }
}

/// Whether a name occurs in some code, other than as a field or method of something.
pub(crate) fn mentions(code: TokenStream, name: &Ident) -> bool {
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

pub(crate) fn members(fields: &Fields) -> Result<Vec<Member>> {
    fields.iter().enumerate().map(|(i, field)| member(field, i, fields.len() == 1)).collect()
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

/// `{ a, b }`, `(m)` or nothing: the pattern that binds every member, with `prefix` before each name.
pub(crate) fn pattern(fields: &Fields, members: &[Member], prefix: &str) -> TokenStream {
    let names = members.iter().map(|m| &m.binding);
    let bound: Vec<Ident> = members.iter().map(|m| format_ident!("{prefix}{}", m.binding)).collect();
    match fields {
        Fields::Named(_) if prefix.is_empty() => quote!({ #(#names),* }),
        Fields::Named(_) => quote!({ #(#names: #bound),* }),
        Fields::Unnamed(_) => quote!(( #(#bound),* )),
        Fields::Unit => quote!(),
    }
}
