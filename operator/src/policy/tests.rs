mod fixture;
mod governs;
mod overlays;
mod peers;
mod ports;
mod status;
mod perf;
