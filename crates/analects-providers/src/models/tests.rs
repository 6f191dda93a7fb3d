//! Lists of models and counts of tokens.
