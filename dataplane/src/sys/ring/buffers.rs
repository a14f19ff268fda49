//! Buffers that the kernel chooses from: a connection that waits for bytes holds none.

use std::cell::Cell;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// Buffers of a ring, a power of two. A buffer is out of the pool from the completion of a receive
/// to that of the send, so this bounds what one wait can bring, and not connections.
pub(super) const COUNT: u16 = 128;

/// Bytes of a buffer: enough for reads that prove a direction to be bulk (engine/pace.rs). All
/// buffers have 4 MiB, of which those pages are in memory that were written to.
pub(super) const SIZE: usize = 32 << 10;

const ENTRIES: usize = COUNT as usize * size_of::<BufRingEntry>();
const PAGE: usize = 4096;
/// The entries come first, on pages of their own.
const BEGIN: usize = ENTRIES.next_multiple_of(PAGE);
const LENGTH: usize = BEGIN + COUNT as usize * SIZE;

/// The memory of all buffers, and the ring in which they are offered to the kernel.
#[derive(Clone)]
pub(super) struct Pool(Rc<Memory>);

struct Memory {
    start: NonNull<u8>,
    /// How many buffers were offered so far, modulo 2^16: where the next one goes.
    offered: Cell<u16>,
}

/// A buffer with something in it. Whoever drops it offers it to the kernel again.
pub struct Buffer {
    pool: Pool,
    number: u16,
    length: u32,
}

impl Pool {
    /// Memory with every buffer on offer; none of it is touched yet but the entries.
    pub(super) fn new() -> io::Result<Self> {
        let pool = Self(Rc::new(Memory::map()?));
        (0..COUNT).for_each(|number| pool.offer(number));
        Ok(pool)
    }

    /// Where the kernel finds the entries.
    pub(super) fn entries(&self) -> u64 {
        self.0.start.as_ptr().expose_provenance() as u64
    }

    /// A buffer that the kernel took and wrote `length` bytes to.
    ///
    /// # Safety
    /// The kernel must have said so, and this must be the only handle of it.
    pub(super) unsafe fn taken(&self, number: u16, length: usize) -> Buffer {
        Buffer {
            pool: self.clone(),
            number: number % COUNT,
            length: u32::try_from(length.min(SIZE)).unwrap_or_default(),
        }
    }

    fn offer(&self, number: u16) {
        let entries = self.0.start.cast::<BufRingEntry>();
        let offered = self.0.offered.get();
        let address = self.buffer(number).as_ptr().expose_provenance() as u64;
        // SAFETY: the entry is inside the mapping, and the kernel reads it only after the tail below
        // says so. The tail shares the first entry's memory, in bytes that no setter touches.
        unsafe {
            let entry = entries.add(usize::from(offered % COUNT)).as_mut();
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(number);
        }
        self.0.offered.set(offered.wrapping_add(1));
        // SAFETY: the pointer is to the first entry; the kernel reads the tail atomically, too.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries.as_ptr()).cast_mut()) };
        tail.store(self.0.offered.get(), Ordering::Release);
    }

    fn buffer(&self, number: u16) -> NonNull<u8> {
        // SAFETY: numbers are below COUNT, so this is inside the mapping.
        unsafe { self.0.start.add(BEGIN + usize::from(number) * SIZE) }
    }
}

impl Buffer {
    pub(super) fn number(&self) -> u16 {
        self.number
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let start = self.pool.buffer(self.number).as_ptr();
        // SAFETY: the kernel wrote these bytes, and writes no more until the buffer is offered again.
        unsafe { std::slice::from_raw_parts(start, self.length as usize) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.offer(self.number);
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({}, {} bytes)", self.number, self.length)
    }
}

impl Memory {
    fn map() -> io::Result<Self> {
        let (read_write, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: new memory of our own, at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), LENGTH, read_write, private, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            offered: Cell::new(0),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and neither a buffer nor the ring is left that refers to it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), LENGTH) };
    }
}
