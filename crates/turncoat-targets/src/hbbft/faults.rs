//! What the engine reports of others, as marks.

use hbbft::binary_agreement::FaultKind as Agreement;
use hbbft::broadcast::FaultKind as Broadcast;
use hbbft::honey_badger::FaultKind;
use hbbft::subset::FaultKind as Subset;

/// The mark of a fault.
pub(super) const fn mark(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::UnexpectedHbMessageEpoch => "fault-epoch",
        FaultKind::DeserializeCiphertext | FaultKind::InvalidCiphertext => "fault-ciphertext",
        FaultKind::BatchDeserializationFailed => "fault-contribution",
        FaultKind::UnexpectedDecryptionShare | FaultKind::DecryptionFault(_) => "fault-decryption-share",
        FaultKind::SubsetFault(Subset::BroadcastFault(kind)) => broadcast(kind),
        FaultKind::SubsetFault(Subset::BaFault(kind)) => agreement(kind),
    }
}

const fn broadcast(kind: &Broadcast) -> &'static str {
    match kind {
        Broadcast::ReceivedValueFromNonProposer | Broadcast::MultipleValues => "fault-value",
        Broadcast::MultipleEchos => "fault-echo",
        Broadcast::MultipleReadys => "fault-ready",
        Broadcast::InvalidProof => "fault-proof",
        Broadcast::BroadcastDecoding => "fault-encoding",
    }
}

const fn agreement(kind: &Agreement) -> &'static str {
    match kind {
        Agreement::DuplicateBVal => "fault-bval",
        Agreement::DuplicateAux => "fault-aux",
        Agreement::MultipleConf => "fault-conf",
        Agreement::MultipleTerm => "fault-term",
        Agreement::AgreementEpoch => "fault-round",
        Agreement::CoinFault(_) => "fault-coin",
    }
}
