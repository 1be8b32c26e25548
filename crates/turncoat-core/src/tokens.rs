//! A value as a flat list of tokens, in which views, slots, digests and the numbers of requests can be told from other
//! numbers.
//!
//! Two states may be equal up to a renaming of blocks and a renumbering of views. To find out, compare their tokens: they
//! have the same shape, and each view or digest of one always corresponds to the same view or digest of the other.

use std::fmt::Error;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A piece of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Token {
    /// A [`View`](crate::ids::View).
    View(u64),
    /// A [`Slot`](crate::ids::Slot).
    Slot(u64),
    /// A [`Digest`](crate::hash::Digest).
    Digest(u64),
    /// A client's own number of a request.
    Count(u64),
    /// Another number, a length of time among them.
    Number(u64),
    /// Text, a node's name among it.
    Text(String),
    /// The name of a variant.
    Name(&'static str),
    /// The name of the field whose value follows: it says where something is, and is the same in all values of a type.
    Field(&'static str),
    /// A list, a table or a structure begins.
    Open,
    /// It ends.
    Close,
}

/// Appends the tokens of a value.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut Vec<Token>) {
    // Only a value that cannot be serialized at all fails; it ends where it fails, and equals nothing that does not.
    if value.serialize(&mut Writer { out, newtype: "" }).is_err() {
        out.push(Token::Name("unserializable"));
    }
}

struct Writer<'a> {
    out: &'a mut Vec<Token>,
    /// The newtype whose number comes next.
    newtype: &'static str,
}

impl Writer<'_> {
    fn number(&mut self, number: u64) -> Result<(), Error> {
        let token = match std::mem::take(&mut self.newtype) {
            "View" => Token::View(number),
            "Slot" => Token::Slot(number),
            "Digest" => Token::Digest(number),
            "ts" => Token::Count(number),
            _ => Token::Number(number),
        };
        self.push(token)
    }

    fn push(&mut self, token: Token) -> Result<(), Error> {
        self.out.push(token);
        Ok(())
    }

    fn open(&mut self, name: &'static str) -> Result<&mut Self, Error> {
        if !name.is_empty() {
            self.push(Token::Name(name))?;
        }
        self.push(Token::Open)?;
        Ok(self)
    }
}

impl Serializer for &mut Writer<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_bool(self, v: bool) -> Result<(), Error> {
        self.number(v.into())
    }
    fn serialize_i8(self, v: i8) -> Result<(), Error> {
        self.number(v as u64)
    }
    fn serialize_i16(self, v: i16) -> Result<(), Error> {
        self.number(v as u64)
    }
    fn serialize_i32(self, v: i32) -> Result<(), Error> {
        self.number(v as u64)
    }
    fn serialize_i64(self, v: i64) -> Result<(), Error> {
        self.number(v as u64)
    }
    fn serialize_u8(self, v: u8) -> Result<(), Error> {
        self.number(v.into())
    }
    fn serialize_u16(self, v: u16) -> Result<(), Error> {
        self.number(v.into())
    }
    fn serialize_u32(self, v: u32) -> Result<(), Error> {
        self.number(v.into())
    }
    fn serialize_u64(self, v: u64) -> Result<(), Error> {
        self.number(v)
    }
    fn serialize_f32(self, v: f32) -> Result<(), Error> {
        self.number(v.to_bits().into())
    }
    fn serialize_f64(self, v: f64) -> Result<(), Error> {
        self.number(v.to_bits())
    }
    fn serialize_char(self, v: char) -> Result<(), Error> {
        self.number(u32::from(v).into())
    }
    fn serialize_str(self, v: &str) -> Result<(), Error> {
        // Requests without content are called after who asks, and their number.
        let numbered = v.rsplit_once('#').and_then(|(who, number)| Some((who, number.parse().ok()?)));
        self.push(Token::Text(numbered.map_or(v, |(who, _)| who).to_owned()))?;
        numbered.map_or(Ok(()), |(_, number)| self.push(Token::Count(number)))
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), Error> {
        v.serialize(self)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.push(Token::Name("none"))
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.push(Token::Name("unit"))
    }
    fn serialize_unit_struct(self, name: &'static str) -> Result<(), Error> {
        self.push(Token::Name(name))
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.push(Token::Name(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.newtype = name;
        value.serialize(&mut *self)?;
        self.newtype = "";
        Ok(())
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.push(Token::Name(variant))?;
        value.serialize(self)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Error> {
        self.open("")
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        self.open("")
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        self.open("")
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        self.open(variant)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self, Error> {
        self.open("")
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        self.open("")
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        self.open(variant)
    }
}

/// Elements follow each other between [`Token::Open`] and [`Token::Close`], whatever they are elements of.
macro_rules! elements {
    ($($Trait:ident $element:ident),*) => {$(
        impl $Trait for &mut Writer<'_> {
            type Ok = ();
            type Error = Error;
            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                value.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Error> {
                self.push(Token::Close)
            }
        }
    )*};
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// A structure is the list of its fields, each after its name.
macro_rules! fields {
    ($($Trait:ident),*) => {$(
        impl $Trait for &mut Writer<'_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.push(Token::Field(key))?;
                self.newtype = if key == "ts" { key } else { "" };
                value.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Error> {
                self.push(Token::Close)
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for &mut Writer<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(&mut **self)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut **self)
    }
    fn end(self) -> Result<(), Error> {
        self.push(Token::Close)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::hash::Digest;
    use crate::ids::{NodeId, Slot, Time, View};

    #[derive(Serialize)]
    enum Vote {
        For { view: View, block: Digest },
        Against(Slot, Option<Time>),
        Nobody,
    }

    #[test]
    fn views_and_digests_are_told_from_numbers() {
        let vote = Vote::For { view: View(7), block: Digest(9) };
        let votes = BTreeMap::from([(
            NodeId::replica(1),
            vec![vote, Vote::Against(Slot(3), Some(Time(5))), Vote::Nobody],
        )]);
        let mut tokens = Vec::new();
        write(&votes, &mut tokens);
        use Token::{Close, Field, Name, Number, Open, Text};
        let for_it =
            [Name("For"), Open, Field("view"), Token::View(7), Field("block"), Token::Digest(9), Close];
        let against = [Name("Against"), Open, Token::Slot(3), Number(5), Close];
        let mut expected = vec![Open, Text("p1".to_owned()), Open];
        expected.extend(for_it.into_iter().chain(against).chain([Name("Nobody"), Close, Close]));
        assert_eq!(tokens, expected);
    }
}
