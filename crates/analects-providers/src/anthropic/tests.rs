//! Anthropic.
