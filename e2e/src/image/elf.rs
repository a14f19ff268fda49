//! What the first bytes of a program say about it (System V ABI, chapter 4 and 5).

/// Processors that images are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Architecture {
    /// The name that images use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

/// Why a file cannot be the only one of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotStatic {
    /// Not an ELF file, or a cut one.
    #[error("is not a 64-bit little-endian ELF program")]
    NotElf,
    /// For a processor we do not know.
    #[error("is for machine {0}, neither x86-64 nor 64-bit Arm")]
    Machine(u16),
    /// It asks for a dynamic linker, which the image would not have.
    #[error("needs a dynamic linker; build it with RUSTFLAGS='-C target-feature=+crt-static'")]
    Interpreter,
}

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const MACHINE: usize = 18;
const PROGRAM_HEADERS: usize = 32;
const PROGRAM_HEADER_SIZE: usize = 54;
const PROGRAM_HEADER_COUNT: usize = 56;
const PT_INTERP: [u8; 4] = [3, 0, 0, 0];

/// The processor that a program or a library is for.
pub(super) fn architecture(program: &[u8]) -> Result<Architecture, NotStatic> {
    if !program.starts_with(MAGIC) {
        return Err(NotStatic::NotElf);
    }
    match u16_at(program, MACHINE)? {
        62 => Ok(Architecture::Amd64),
        183 => Ok(Architecture::Arm64),
        other => Err(NotStatic::Machine(other)),
    }
}

/// Refuses a program that asks for a dynamic linker. A static one that may be loaded anywhere
/// (static-pie) has a dynamic section all the same, so only PT_INTERP tells.
pub(super) fn check_static(program: &[u8]) -> Result<Architecture, NotStatic> {
    let architecture = architecture(program)?;
    let start = usize::try_from(u64_at(program, PROGRAM_HEADERS)?);
    let start = start.map_err(|_| NotStatic::NotElf)?;
    let size = usize::from(u16_at(program, PROGRAM_HEADER_SIZE)?);
    for index in 0..usize::from(u16_at(program, PROGRAM_HEADER_COUNT)?) {
        let offset = start.checked_add(index * size).ok_or(NotStatic::NotElf)?;
        if at::<4>(program, offset)? == PT_INTERP {
            return Err(NotStatic::Interpreter);
        }
    }
    Ok(architecture)
}

fn u16_at(bytes: &[u8], offset: usize) -> Result<u16, NotStatic> {
    at(bytes, offset).map(u16::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Result<u64, NotStatic> {
    at(bytes, offset).map(u64::from_le_bytes)
}

fn at<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], NotStatic> {
    let field = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    field.copied().ok_or(NotStatic::NotElf)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A program of headers only, the program headers being of these types.
    pub(in crate::image) fn program(machine: u16, types: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(64, 0);
        bytes[MACHINE..MACHINE + 2].copy_from_slice(&machine.to_le_bytes());
        bytes[PROGRAM_HEADERS] = 64;
        bytes[PROGRAM_HEADER_SIZE] = 56;
        bytes[PROGRAM_HEADER_COUNT] = u8::try_from(types.len()).unwrap();
        for kind in types {
            bytes.push(*kind);
            bytes.resize(bytes.len() + 55, 0);
        }
        bytes
    }

    #[test]
    fn a_static_program_names_its_processor() {
        assert_eq!(check_static(&program(62, &[1, 2])), Ok(Architecture::Amd64));
        assert_eq!(check_static(&program(183, &[])), Ok(Architecture::Arm64));
    }

    #[test]
    fn a_program_with_an_interpreter_is_refused() {
        assert_eq!(
            check_static(&program(62, &[1, 3])),
            Err(NotStatic::Interpreter)
        );
    }

    #[test]
    fn another_processor_is_refused() {
        assert_eq!(check_static(&program(40, &[])), Err(NotStatic::Machine(40)));
    }

    #[test]
    fn a_program_cut_anywhere_is_refused() {
        let whole = program(62, &[1, 2]);
        for cut in 0..whole.len() - 55 {
            assert_eq!(
                check_static(&whole[..cut]),
                Err(NotStatic::NotElf),
                "cut at {cut}"
            );
        }
    }
}
