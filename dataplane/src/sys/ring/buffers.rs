//! Buffers that the kernel chooses from: a connection that waits for bytes holds none.

use std::cell::Cell;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// A kind of pool. A buffer is out of its pool from the completion of a receive to that of the send,
/// so their number bounds what one wait can bring, and not connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The kernel's name for the pool.
    pub(super) group: u16,
    /// Buffers, a power of two.
    pub(super) count: u16,
    /// Bytes of each.
    pub(super) size: u32,
}

/// For receives that go on: a burst of 32 receives (MULTISHOT_MAX_RETRY, io_uring/net.c), after which
/// others get their turn, is 64 KiB. All have 1 MiB.
pub(super) const SMALL: Shape = Shape {
    group: 0,
    count: 512,
    size: 2 << 10,
};

/// For single receives: enough for reads that prove a direction to be bulk (engine/pace.rs). All have
/// 4 MiB, of which those pages are in memory that were written to.
pub(super) const LARGE: Shape = Shape {
    group: 1,
    count: 128,
    size: 32 << 10,
};

const PAGE: usize = 4096;

impl Shape {
    /// Where the buffers begin. Before them are the entries, on pages of their own.
    fn begin(self) -> usize {
        let entries = usize::from(self.count) * size_of::<BufRingEntry>();
        entries.next_multiple_of(PAGE)
    }

    fn length(self) -> usize {
        self.begin() + usize::from(self.count) * self.size as usize
    }
}

/// The memory of all buffers, and the ring in which they are offered to the kernel.
#[derive(Clone)]
pub(super) struct Pool(Rc<Memory>);

struct Memory {
    shape: Shape,
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
    pub(super) fn new(shape: Shape) -> io::Result<Self> {
        let pool = Self(Rc::new(Memory::map(shape)?));
        (0..shape.count).for_each(|number| pool.offer(number));
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
    pub(super) unsafe fn taken(&self, number: u16, length: u32) -> Buffer {
        Buffer {
            pool: self.clone(),
            number: number % self.0.shape.count,
            length: length.min(self.0.shape.size),
        }
    }

    fn offer(&self, number: u16) {
        let entries = self.0.start.cast::<BufRingEntry>();
        let (shape, offered) = (self.0.shape, self.0.offered.get());
        let address = self.buffer(number).as_ptr().expose_provenance() as u64;
        // SAFETY: the entry is inside the mapping, and the kernel reads it only after the tail below
        // says so. The tail shares the first entry's memory, in bytes that no setter touches.
        unsafe {
            let entry = entries.add(usize::from(offered % shape.count)).as_mut();
            entry.set_addr(address);
            entry.set_len(shape.size);
            entry.set_bid(number);
        }
        self.0.offered.set(offered.wrapping_add(1));
        // SAFETY: the pointer is to the first entry; the kernel reads the tail atomically, too.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries.as_ptr()).cast_mut()) };
        tail.store(self.0.offered.get(), Ordering::Release);
    }

    fn buffer(&self, number: u16) -> NonNull<u8> {
        let shape = self.0.shape;
        let offset = shape.begin() + usize::from(number) * shape.size as usize;
        // SAFETY: numbers are below the count, so this is inside the mapping.
        unsafe { self.0.start.add(offset) }
    }
}

impl Buffer {
    /// Its number among those of all pools.
    pub(super) fn place(&self) -> u16 {
        match self.pool.0.shape.group {
            0 => self.number,
            _ => SMALL.count + self.number,
        }
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
    fn map(shape: Shape) -> io::Result<Self> {
        let length = shape.length();
        let (read_write, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: new memory of our own, at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, read_write, private, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            shape,
            start,
            offered: Cell::new(0),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and neither a buffer nor the ring is left that refers to it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.shape.length()) };
    }
}
