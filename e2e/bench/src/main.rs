//! `proxyunwrap-bench`; the library is where it is read.

fn main() -> anyhow::Result<()> {
    proxyunwrap_bench::main()
}
