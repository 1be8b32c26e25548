//! Payments, sets of them, and the ledgers that are built of them.
//!
//! An account belongs to a client, and the client's number of a request is the account's sequence number. So two payments with
//! one number are a double spend: a chain can hold one of them at the most.

use std::cmp::Reverse;

use turncoat_core::prelude::*;

use super::closing::Closing;

/// A payment, signed by who pays.
pub(super) type Tx = Signed<Request>;

/// A set of payments: sorted, none twice.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize, Part)]
pub(super) struct TxSet(pub(super) Arc<Vec<Tx>>);

impl TxSet {
    pub(super) fn of(mut txs: Vec<Tx>) -> Self {
        txs.sort_unstable();
        Self(Arc::new(txs))
    }

    /// Whether it is a set, of payments that their clients have signed.
    pub(super) fn is_sound(&self) -> bool {
        self.0.is_sorted_by(|a, b| a < b) && self.0.iter().all(is_genuine)
    }

    pub(super) fn contains(&self, tx: &Tx) -> bool {
        self.0.binary_search(tx).is_ok()
    }

    /// Its hash; the empty set has a well-known one.
    pub(super) fn id(&self) -> Digest {
        if self.0.is_empty() { Digest::NULL } else { Digest::of(&self.0) }
    }

    /// What one of the two sets has and the other has not.
    pub(super) fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Tx> {
        let lacks = |set: &'a Self| move |tx: &&Tx| !set.contains(tx);
        self.0.iter().filter(lacks(other)).chain(other.0.iter().filter(lacks(self)))
    }
}

/// Whether a client has signed this.
pub(super) fn is_genuine(tx: &Tx) -> bool {
    tx.is_by(tx.client)
}

/// What an account has, and the number of its next payment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize, Part)]
pub(super) struct Account {
    pub(super) balance: u64,
    next: u32,
}

/// What became of a payment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Applied {
    Done,
    /// Its number is not due yet, or there is too little money: later perhaps.
    Retry,
    /// Its number was used.
    Past,
}

/// Whom an operation pays and how much: `c2:500`. Anything else moves nothing.
fn payment(op: &Op) -> Option<(usize, u64)> {
    let (to, amount) = op.as_str().split_once(':')?;
    Some((to.parse::<NodeId>().ok().filter(|to| to.is_client())?.index(), amount.parse().ok()?))
}

/// Carries out a payment, if it can be.
pub(super) fn apply(accounts: &mut Vec<Account>, tx: &Tx) -> Applied {
    let (from, paid) = (tx.client.index(), payment(&tx.op));
    let size = paid.map_or(from, |(to, _)| to.max(from)) + 1;
    if accounts.len() < size {
        accounts.resize(size, Account { balance: 0, next: 1 });
    }
    let (to, amount) = paid.unwrap_or((from, 0));
    let account = &mut accounts[from];
    if tx.ts != account.next || account.balance < amount {
        return if tx.ts < account.next { Applied::Past } else { Applied::Retry };
    }
    account.next += 1;
    account.balance -= amount;
    accounts[to].balance += amount;
    Applied::Done
}

/// The order in which a ledger carries out payments: by account, accounts in an order that depends on the salt.
pub(super) fn canonical(txs: &mut [Tx], salt: Digest) {
    txs.sort_by_cached_key(|tx| (Digest::of(&tx.client).0 ^ salt.0, tx.ts, tx.digest()));
}

/// A ledger. Its hash covers all of it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(n, parent, txs))]
pub struct Ledger {
    pub(super) seq: Slot,
    pub(super) parent: Digest,
    /// What was carried out, in order.
    pub(super) txs: Vec<Tx>,
    #[part(skip)]
    pub(super) accounts: Vec<Account>,
    /// The hashes of all ledgers before it.
    #[part(skip)]
    ancestors: Vec<Digest>,
    /// When it closed, if replicas agree on that.
    #[part(skip)]
    #[serde(skip)]
    pub(super) closing: Option<Closing>,
    #[part(skip)]
    pub(super) id: Digest,
}

/// How often at the most a payment is tried while a ledger is built.
const PASSES: u32 = 3;

impl Ledger {
    /// The first one, with the clients' accounts.
    pub(super) fn genesis(clients: usize, balance: u64, closing: Option<Closing>) -> Self {
        let accounts = vec![Account { balance, next: 1 }; clients];
        let (parent, txs, ancestors, id) = (Digest::NULL, Vec::new(), Vec::new(), Digest::NULL);
        Self { seq: Slot(1), parent, txs, accounts, ancestors, closing, id }.with_hash()
    }

    fn with_hash(mut self) -> Self {
        self.id = self.hash_of();
        self
    }

    fn hash_of(&self) -> Digest {
        let content = (self.seq, self.parent, &self.txs, &self.accounts, &self.ancestors);
        self.closing.map_or_else(|| Digest::of(&content), |closing| Digest::of(&(content, closing)))
    }

    /// Whether its hash is its own.
    pub(super) fn is_sound(&self) -> bool {
        self.id == self.hash_of()
    }

    /// The hash of the ledger with this number on the chain that ends here.
    pub(super) fn at(&self, seq: Slot) -> Option<Digest> {
        if seq == self.seq {
            return Some(self.id);
        }
        self.ancestors.get((seq.0 as usize).checked_sub(1)?).copied()
    }

    /// Whether one of the two is an ancestor of the other, or they are the same.
    pub(super) fn is_in_line_with(&self, other: &Self) -> bool {
        let seq = self.seq.min(other.seq);
        self.at(seq) == other.at(seq)
    }

    /// The next ledger, of a set (and a closing time) on which there was consensus, and what could not be carried out yet.
    pub(super) fn next(&self, set: &TxSet, close: Option<u32>) -> (Self, Vec<Tx>) {
        let mut left = set.0.to_vec();
        let (mut done, mut accounts) = (Vec::new(), self.accounts.clone());
        canonical(&mut left, set.id());
        for _ in 0..PASSES {
            let before = left.len();
            left.retain(|tx| match apply(&mut accounts, tx) {
                Applied::Done => {
                    done.push(*tx);
                    false
                }
                Applied::Retry => true,
                Applied::Past => false,
            });
            if left.len() == before {
                break;
            }
        }
        let mut ancestors = Vec::with_capacity(self.ancestors.len() + 1);
        ancestors.extend_from_slice(&self.ancestors);
        ancestors.push(self.id);
        let seq = self.seq.next();
        let closing = self.closing.zip(close).map(|(before, time)| before.next(seq, time));
        let next = Self { seq, parent: self.id, txs: done, accounts, ancestors, closing, id: Digest::NULL };
        (next.with_hash(), left)
    }

    /// All the money there is.
    pub(super) fn money(&self) -> u64 {
        self.accounts.iter().map(|account| account.balance).sum()
    }
}

/// The payments that a replica knows and that are not settled, in the order in which it would carry them out.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub(super) struct Pool {
    txs: Vec<Known>,
    /// How many it has known.
    seen: u32,
}

#[derive(Clone, Debug, Hash, Serialize)]
struct Known {
    tx: Tx,
    /// Where it came in the order of arrival.
    arrival: u32,
}

impl Pool {
    /// Adds a payment; says whether it is new.
    pub(super) fn insert(&mut self, tx: &Tx) -> bool {
        let new = self.txs.iter().all(|known| known.tx != *tx);
        if new {
            self.txs.push(Known { tx: *tx, arrival: self.seen });
            self.seen += 1;
        }
        new
    }

    /// What can be carried out after `ledger`: the open ledger. Of payments that exclude each other the first counts.
    pub(super) fn open(&self, ledger: &Ledger) -> TxSet {
        if self.txs.is_empty() {
            return TxSet::default();
        }
        let mut accounts = ledger.accounts.clone();
        let mut open = Vec::new();
        loop {
            let before = open.len();
            for known in &self.txs {
                if !open.contains(&known.tx) && apply(&mut accounts, &known.tx) == Applied::Done {
                    open.push(known.tx);
                }
            }
            if open.len() == before {
                return TxSet::of(open);
            }
        }
    }

    /// Forgets what a fully validated ledger, or one before it, has settled.
    pub(super) fn settle(&mut self, ledger: &Ledger) {
        let next = |tx: &Tx| ledger.accounts.get(tx.client.index()).map_or(1, |account| account.next);
        self.txs.retain(|known| known.tx.ts >= next(&known.tx));
    }

    /// Puts these first, in canonical order, and all others behind them as they arrived.
    pub(super) fn favour(&mut self, mut first: Vec<Tx>, salt: Digest) {
        canonical(&mut first, salt);
        let rank = |known: &Known| first.iter().rev().position(|tx| *tx == known.tx);
        self.txs.sort_by_cached_key(|known| (Reverse(rank(known)), known.arrival));
    }
}

/// A payment for unit tests, which do not look at signatures.
#[cfg(test)]
pub(super) fn unsigned(client: usize) -> Tx {
    let client = NodeId::client(client);
    let request = Request { client, ts: 1, op: Op::new("c0:0"), read_only: false };
    let signed = serde_json::json!({ "signer": client, "tag": 0, "body": request });
    serde_json::from_value(signed).expect("a payment")
}
