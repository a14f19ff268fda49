//! The PROXY protocol on the wire.
#![no_std]
