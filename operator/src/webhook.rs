//! The webhook.

pub mod review;
