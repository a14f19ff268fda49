//! Header blocks of HTTP/2 (RFC 7541): everything is read, the least is written.
//!
//! Promises: any bytes give headers or [`Malformed`]; what is kept is bounded by the table's size,
//! and what comes out by [`MAX_HEADERS`].

mod huffman;
mod tables;

use std::collections::VecDeque;

use tables::STATIC;

/// The table's size that we announce by announcing none.
const TABLE: usize = 4096;

/// Bytes of all headers of a block, with 32 for each, once they are decoded.
const MAX_HEADERS: usize = 32 * 1024;

/// Name and value.
pub(super) type Header = (Vec<u8>, Vec<u8>);

/// A block that is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the blocks of one connection, in order.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Newest first.
    table: VecDeque<Header>,
    size: usize,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            table: VecDeque::new(),
            size: 0,
            limit: TABLE,
        }
    }
}

impl Decoder {
    /// The headers of a whole block.
    pub(super) fn block(&mut self, mut block: &[u8]) -> Result<Vec<Header>, Malformed> {
        let mut headers = Vec::new();
        let mut size = 0;
        while let Some(first) = block.first() {
            let header = match first {
                0x80.. => self.entry(integer(&mut block, 7)?)?,
                0x40..0x80 => {
                    let header = self.literal(&mut block, 6)?;
                    self.insert(header.clone());
                    header
                }
                0x20..0x40 if headers.is_empty() => {
                    self.resize(integer(&mut block, 5)?)?;
                    continue;
                }
                0x20..0x40 => return Err(Malformed),
                0x00..0x20 => self.literal(&mut block, 4)?,
            };
            size += size_of(&header);
            if size > MAX_HEADERS {
                return Err(Malformed);
            }
            headers.push(header);
        }
        Ok(headers)
    }

    fn literal(&self, block: &mut &[u8], prefix: u32) -> Result<Header, Malformed> {
        let name = match integer(block, prefix)? {
            0 => string(block)?,
            index => self.entry(index)?.0,
        };
        Ok((name, string(block)?))
    }

    fn entry(&self, index: usize) -> Result<Header, Malformed> {
        let index = index.checked_sub(1).ok_or(Malformed)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Ok((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        let stored = self.table.get(index - STATIC.len());
        stored.cloned().ok_or(Malformed)
    }

    fn insert(&mut self, header: Header) {
        self.size += size_of(&header);
        self.table.push_front(header);
        self.evict();
    }

    fn resize(&mut self, limit: usize) -> Result<(), Malformed> {
        if limit > TABLE {
            return Err(Malformed);
        }
        self.limit = limit;
        self.evict();
        Ok(())
    }

    fn evict(&mut self) {
        while self.size > self.limit {
            let Some(oldest) = self.table.pop_back() else {
                return;
            };
            self.size -= size_of(&oldest);
        }
    }
}

/// Writes a header that nobody is to remember: as it is, by a name of the static table or a new one.
pub(super) fn write(block: &mut Vec<u8>, name: &str, value: &str) {
    match STATIC.iter().position(|(known, _)| *known == name) {
        Some(index) => write_integer(block, 4, index + 1),
        None => {
            block.push(0);
            write_string(block, name);
        }
    }
    write_string(block, value);
}

fn write_string(block: &mut Vec<u8>, text: &str) {
    write_integer(block, 7, text.len());
    block.extend_from_slice(text.as_bytes());
}

fn write_integer(block: &mut Vec<u8>, prefix: u32, value: usize) {
    let full = (1 << prefix) - 1;
    if value < full {
        block.push(value as u8);
        return;
    }
    block.push(full as u8);
    let mut rest = value - full;
    while rest >= 0x80 {
        block.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// An integer whose first byte has `prefix` bits for it (section 5.1). No block of ours is so long
/// that three more bytes were not enough.
fn integer(block: &mut &[u8], prefix: u32) -> Result<usize, Malformed> {
    let full = (1_usize << prefix) - 1;
    let mut value = usize::from(next(block)?) & full;
    if value < full {
        return Ok(value);
    }
    for shift in [0, 7, 14] {
        let byte = next(block)?;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn string(block: &mut &[u8]) -> Result<Vec<u8>, Malformed> {
    let coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let len = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(len).ok_or(Malformed)?;
    *block = rest;
    match coded {
        true => huffman::decode(text).ok_or(Malformed),
        false => Ok(text.to_vec()),
    }
}

fn next(block: &mut &[u8]) -> Result<u8, Malformed> {
    let (first, rest) = block.split_first().ok_or(Malformed)?;
    *block = rest;
    Ok(*first)
}

/// As section 4.1 counts.
fn size_of((name, value): &Header) -> usize {
    name.len() + value.len() + 32
}

#[cfg(test)]
mod tests;
