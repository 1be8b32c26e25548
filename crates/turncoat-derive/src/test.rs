//! `#[turncoat::test(PROTOCOL, KEY = VALUE, ..)]`: a function becomes a test that fuzzes a protocol.
//!
//! Each key is a method of `turncoat::Fuzzer`, which documents it. What the function returns, if anything, is the base
//! scenario.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, ItemFn, LitStr, Result, ReturnType, Token, Type, parenthesized};

/// Keys with one value.
const KEYS: [&str; 5] = ["strategy", "runs", "seed", "flag", "finds"];

/// The protocol, and the calls that the keys stand for.
struct Settings {
    protocol: Type,
    calls: Vec<TokenStream>,
}

impl Parse for Settings {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = input.peek(Ident) && (input.peek2(Token![=]) || input.peek2(syn::token::Paren));
        if input.is_empty() || key {
            return Err(input.error("the protocol comes first, as in `#[turncoat::test(Demo, runs = 1000)]`"));
        }
        let protocol = input.parse()?;
        let mut calls = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                setting(input, &mut calls)?;
            }
        }
        Ok(Self { protocol, calls })
    }
}

/// `KEY = VALUE`, or `set(NAME = VALUE, ..)`.
fn setting(input: ParseStream<'_>, calls: &mut Vec<TokenStream>) -> Result<()> {
    let key: Ident = input.parse()?;
    if key == "set" {
        let pairs;
        parenthesized!(pairs in input);
        for Pair { name, value } in Punctuated::<Pair, Token![,]>::parse_terminated(&pairs)? {
            calls.push(quote_spanned!(key.span()=> .set(#name, #value)));
        }
        return Ok(());
    }
    if !KEYS.contains(&key.to_string().as_str()) {
        let known = KEYS.join("`, `");
        return Err(Error::new(key.span(), format!("no key `{key}`: there are `{known}` and `set(..)`")));
    }
    input.parse::<Token![=]>()?;
    let value: Expr = input.parse()?;
    calls.push(quote_spanned!(key.span()=> .#key(#value)));
    Ok(())
}

/// `c = 2`, or `"network.loss" = "hold"`.
struct Pair {
    name: LitStr,
    value: Expr,
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = match input.peek(LitStr) {
            true => input.parse()?,
            false => {
                let name: Ident = input.parse()?;
                LitStr::new(&name.to_string(), name.span())
            }
        };
        input.parse::<Token![=]>()?;
        Ok(Self { name, value: input.parse()? })
    }
}

pub(crate) fn expand(settings: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    let ItemFn { attrs, vis, sig, block } = function;
    let Settings { protocol, calls } = Settings::parse.parse2(settings)?;
    let excess =
        [sig.asyncness.to_token_stream(), sig.inputs.to_token_stream(), sig.generics.to_token_stream()];
    if let Some(excess) = excess.iter().find(|excess| !excess.is_empty()) {
        let why =
            "a test takes no arguments and is not async; the scenario that it returns is what all runs share";
        return Err(Error::new(excess.span(), why));
    }
    let (name, output, facade) = (&sig.ident, &sig.output, facade());
    let base = match output {
        ReturnType::Default => quote!(base();),
        ReturnType::Type(..) => quote!(let check = check.scenario(base());),
    };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #name() {
            fn base() #output #block
            let check = #facade::check::<#protocol>() #(#calls)*;
            #base
            check.run();
        }
    })
}

/// Where the crate under test finds turncoat.
fn facade() -> TokenStream {
    let name = match crate_name("turncoat") {
        Ok(FoundCrate::Name(name)) => name,
        _ => "turncoat".to_owned(),
    };
    let name = Ident::new(&name, Span::call_site());
    quote!(::#name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(settings: &str, function: &str) -> std::result::Result<String, String> {
        let settings = settings.parse().expect("tokens");
        let function = syn::parse_str(function).expect("a function");
        expand(settings, &function).map(|tokens| tokens.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_key_is_a_call() {
        let code =
            expanded("Demo, runs = 10 * 2, set(c = 2, \"network.loss\" = \"hold\"),", "fn agrees() {}");
        let code = code.expect("code").replace(' ', "");
        let calls = ".runs(10*2).set(\"c\",2).set(\"network.loss\",\"hold\");base();check.run();";
        assert!(code.contains(&format!("check::<Demo>(){calls}")), "{code}");
        let code = expanded("Demo", "fn agrees() -> Scenario { four() }").expect("code").replace(' ', "");
        assert!(code.contains("letcheck=check.scenario(base());check.run();"), "{code}");
    }

    #[test]
    fn mistakes_are_named() {
        for (settings, function, words) in [
            ("Demo, stratgy = 1", "fn a() {}", "no key `stratgy`: there are `strategy`, `runs`"),
            ("", "fn a() {}", "the protocol comes first"),
            ("runs = 1", "fn a() {}", "the protocol comes first"),
            ("set(c = 1)", "fn a() {}", "the protocol comes first"),
            ("Demo runs = 1", "fn a() {}", "expected `,`"),
            ("Demo, set(c)", "fn a() {}", "expected `=`"),
            ("Demo", "fn a(fuzzer: Fuzzer) {}", "takes no arguments"),
            ("Demo", "async fn a() {}", "is not async"),
        ] {
            let why = expanded(settings, function).expect_err(settings);
            assert!(why.contains(words), "{settings}: {why}");
        }
    }
}
