//! What a chain lacks, and records in it that no model can read.

use std::collections::HashMap;

use analects_core::{Lack, Said, Tree};

use crate::transcript::check::unpaired;

/// The gaps of the chain that ends in a leaf. Records are given by their position in the tree.
pub(super) struct ChainGaps {
    pub(super) leaf: usize,
    /// The calls without results, in the order of the chain.
    pub(super) calls: Vec<UnansweredCall>,
    /// The records to hide.
    pub(super) useless: Vec<UselessRecord>,
}

/// A call without a result.
pub(super) struct UnansweredCall {
    /// The record with the call.
    pub(super) at: usize,
    /// The id that the result needs.
    pub(super) call_id: String,
    /// The next record of the chain, if the call is not in the leaf.
    pub(super) next: Option<usize>,
}

/// A record to hide, and the code of the problem.
pub(super) struct UselessRecord {
    pub(super) at: usize,
    pub(super) code: &'static str,
}

impl ChainGaps {
    /// Finds the gaps on the path to a leaf. `said` returns the calls and results of a position.
    pub(super) fn of<'s>(tree: &Tree, leaf: usize, said: impl Fn(usize) -> &'s Said) -> ChainGaps {
        let mut gaps = ChainGaps {
            leaf,
            calls: Vec::new(),
            useless: Vec::new(),
        };
        for finding in tree.effective(leaf).findings {
            if finding.problem.code == "boundary-without-summary" {
                gaps.add_useless(finding.at, "boundary-without-summary");
            }
        }
        let path = tree.path(leaf);
        let next: HashMap<usize, usize> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        // How many results without a call each record has.
        let mut orphans: HashMap<usize, usize> = HashMap::new();
        for unpaired in unpaired(tree, leaf, &said) {
            let at = unpaired.at;
            match unpaired.what {
                Lack::Result(call_id) => gaps.calls.push(UnansweredCall {
                    at,
                    call_id,
                    next: next.get(&at).copied(),
                }),
                Lack::Content => gaps.add_useless(at, "empty-content"),
                Lack::Call(_) => *orphans.entry(at).or_default() += 1,
            }
        }
        gaps.add_orphans(orphans, said);
        gaps
    }

    /// Adds a record to hide.
    fn add_useless(&mut self, at: usize, code: &'static str) {
        self.useless.push(UselessRecord { at, code });
    }

    /// Adds records that hold nothing but results without calls. A record with other content stays; only the result in
    /// it is not sent.
    fn add_orphans<'s>(
        &mut self,
        orphans: HashMap<usize, usize>,
        said: impl Fn(usize) -> &'s Said,
    ) {
        let mut orphans: Vec<(usize, usize)> = orphans.into_iter().collect();
        orphans.sort_unstable();
        for (at, count) in orphans {
            let said = said(at);
            if said.is_only_results && said.results.len() == count {
                self.add_useless(at, "result-without-call");
            }
        }
    }
}
