//! Fuzz functions.
