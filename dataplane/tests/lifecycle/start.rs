//! How soon it listens.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::pod::{LISTEN, enrolled};
use crate::support::process::Process;
use crate::support::stand::{PATIENCE, PORT, Stand};

/// Ten times what an optimised build is held to: this one is not, and the machine is shared.
const SOON: Duration = Duration::from_millis(500);

/// The best of these counts: the others tell what else the machine did.
const STARTS: usize = 5;

#[test]
fn it_listens_within_half_a_second_of_its_start() {
    let config = enrolled(PORT);
    let stand = Stand::prepared("start", &config);
    let path = stand.configure(&config);
    let best = (0..STARTS).map(|_| {
        let start = Instant::now();
        let mut command = stand.command(&[]);
        let _process = Process::start("serve", command.args(["serve", "--config"]).arg(&path));
        stand.lab.pod.namespace.enter(|| until_it_listens(start))
    });
    let best = best.min().expect("several starts");
    eprintln!("listening {best:?} after its start, the best of {STARTS}");
    assert!(best < SOON, "{best:?}");
}

/// From `start` to the first connection that is taken: a step of a wait would be as long as that.
#[track_caller]
fn until_it_listens(start: Instant) -> Duration {
    let to = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), LISTEN);
    while TcpStream::connect(to).is_err() {
        assert!(start.elapsed() < PATIENCE, "it does not listen");
        std::thread::yield_now();
    }
    start.elapsed()
}
