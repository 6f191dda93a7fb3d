//! The names of a message's cells.

use crate::msgfile::parts::{BLOCK, TEXT, THINK};

/// Names the cells of a message: the first text is called after the message, and the others after it.
pub(super) struct PartNames<'a> {
    whole: &'a str,
    is_users: bool,
    has_whole: bool,
    thoughts: usize,
    texts: usize,
    blocks: usize,
}

impl<'a> PartNames<'a> {
    pub(super) fn new(whole: &'a str, is_users: bool) -> PartNames<'a> {
        PartNames { whole, is_users, has_whole: false, thoughts: 0, texts: 0, blocks: 0 }
    }

    /// The name of a thought: `2.think`, then `2.think2`.
    pub(super) fn thought(&mut self) -> String {
        self.thoughts += 1;
        match self.thoughts {
            1 => format!("{}.{THINK}", self.whole),
            count => format!("{}.{THINK}{count}", self.whole),
        }
    }

    /// The name of a text: `2`, then `2.text2`.
    pub(super) fn text(&mut self) -> String {
        self.texts += 1;
        if !self.has_whole {
            self.has_whole = true;
            return self.whole.to_string();
        }
        format!("{}.{TEXT}{}", self.whole, self.texts)
    }

    /// The name of anything else: `2.block1`. What a person says may start with it.
    pub(super) fn block(&mut self) -> String {
        if self.is_users && !self.has_whole {
            self.has_whole = true;
            self.texts = 1;
            return self.whole.to_string();
        }
        self.blocks += 1;
        format!("{}.{BLOCK}{}", self.whole, self.blocks)
    }

    /// The name of a call: `2.k3f9qx7a`.
    pub(super) fn call(&self, nonce: &str) -> String {
        format!("{}.{nonce}", self.whole)
    }
}
