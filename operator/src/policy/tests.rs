mod fixture;
mod governs;
mod overlays;
mod peers;
mod perf;
mod ports;
mod status;
