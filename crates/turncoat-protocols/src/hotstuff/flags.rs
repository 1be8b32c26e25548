//! The deviations that all protocols of the family can have.

/// Makes the flags of a protocol: those of all, and its own.
macro_rules! family_flags {
    ($(#[$meta:meta])* pub struct Flags { $($own:tt)* }) => {
        turncoat_core::flags! {
            $(#[$meta])*
            pub struct Flags {
                quorum_2f: "one vote fewer than a quorum makes a certificate",
                no_dedup_votes: "certificates count votes, not voters",
                no_leader_check: "proposals are accepted from anyone",
                no_parent_qc_check: "a block's parent need not be the block that its certificate is for",
                height_unchecked: "a block's height need not be one above its parent's",
                justify_view_unchecked: "the view of the certificate that justifies a block is not checked",
                commit_skips_missing_parent: "a block whose parent is missing is decided without it",
                $($own)*
            }
        }

        impl Flags {
            /// How `Checks` reads them, where so many votes are a quorum.
            const fn checks(&self, quorum: usize, n: usize) -> $crate::hotstuff::certs::Checks {
                $crate::hotstuff::certs::Checks {
                    quorum: quorum - self.quorum_2f as usize,
                    replicas: NodeSet::replicas(n),
                    no_leader_check: self.no_leader_check,
                    no_dedup_votes: self.no_dedup_votes,
                    no_parent_qc_check: self.no_parent_qc_check,
                    height_unchecked: self.height_unchecked,
                    justify_view_unchecked: self.justify_view_unchecked,
                    commit_skips_missing_parent: self.commit_skips_missing_parent,
                }
            }
        }
    };
}

pub(super) use family_flags;
