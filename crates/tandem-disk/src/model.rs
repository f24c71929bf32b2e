//! Models of drives: what a request costs, in virtual time.
//!
//! A drive is made of parts, each in a file of its own: where sectors lie ([`geometry`]), how long
//! the arm and the platters take ([`seek`], [`mechanics`]), what its memory holds ([`cache`]), and
//! the controller that has them work together ([`disk`]). [`ssd`] has no parts that move. Nothing
//! here is random and nothing looks at a clock.

pub mod cache;
pub mod disk;
pub mod geometry;
pub mod mechanics;
pub mod seek;
pub mod ssd;

/// Parameters that no drive can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct ModelError {
    /// The parameter.
    pub what: String,
    /// What is wrong with it.
    pub why: String,
}

impl ModelError {
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> ModelError {
        ModelError { what: what.into(), why: why.into() }
    }
}
