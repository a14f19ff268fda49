//! Full-sized answers arrive through a path narrower than the pod's own link.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::thread;

use crate::pod::{LISTEN, POD_V4, POD_V6, PORT, Pod, WAYS, ask, settled};
use crate::support::namespace::Namespace;

/// Many times a segment.
const LENGTH: usize = 200_000;

#[test]
fn sidecar_hears_of_a_narrow_path() {
    for way in [WAYS[0], WAYS[1]] {
        let pod = Pod::new();
        let far = behind_a_narrow_link(&pod);
        pod.init(way);
        for pods in [POD_V4, POD_V6] {
            let listener = pod
                .inside
                .enter(|| TcpListener::bind((IpAddr::V6(Ipv6Addr::UNSPECIFIED), LISTEN)));
            let listener = listener.expect("the port is free");
            let sidecar = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a visit");
                let _ = stream.write_all(&[b'x'; LENGTH]);
            });
            let answer = ask(&far, (pods, PORT)).expect("the whole answer");
            assert_eq!(answer.len(), LENGTH, "{way}");
            sidecar.join().expect("it was visited");
        }
    }
}

/// The neighbour becomes a router with a link of 1300 bytes to a third namespace, whose own end
/// takes 1500: the segment sizes both ends agree on are too big for it.
fn behind_a_narrow_link(pod: &Pod) -> Namespace {
    let far = Namespace::new("far");
    pod.outside.cable("far0", &far, "eth0");
    pod.outside.sh("ip link set far0 mtu 1300
                    echo 1 > /proc/sys/net/ipv4/ip_forward
                    echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
    pod.outside.address("far0", "10.10.0.1/24");
    pod.outside.address("far0", "fd00:10::1/64");
    // A router asks for its neighbours from a link-local address, and these pass no detection.
    pod.outside.address("peer0", "fe80::1/64");
    pod.outside.address("far0", "fe80::1/64");
    far.address("eth0", "10.10.0.2/24");
    far.address("eth0", "fd00:10::2/64");
    settled(&far, "eth0", Some([0xfd00, 0x10, 0, 0, 0, 0, 0, 2].into()));
    settled(
        &pod.outside,
        "far0",
        Some([0xfd00, 0x10, 0, 0, 0, 0, 0, 1].into()),
    );
    far.sh("ip route add default via 10.10.0.1; ip -6 route add default via fd00:10::1");
    pod.inside
        .sh("ip route add default via 10.9.0.1; ip -6 route add default via fd00:9::1");
    far
}
