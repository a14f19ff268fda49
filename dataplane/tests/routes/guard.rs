//! No packet leaves the pod with a source that is not its own.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::pod::{PEER_V4, PEER_V6, POD_V4, POD_V6, Pod, begin_as, datagrams_as};
use crate::support::namespace::Namespace;

const SOON: Duration = Duration::from_secs(2);
const CLIENT_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
const CLIENT_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7));

const GUARDED: [&str; 3] = ["--steer netdev", "--steer inet", "--steer same-port"];

#[test]
fn datagram_of_a_foreign_source_stays_inside() {
    for way in GUARDED {
        let pod = Pod::new();
        pod.init(way);
        assert_eq!(
            first_heard(&pod, CLIENT_V4, POD_V4, PEER_V4),
            POD_V4,
            "{way}"
        );
        assert_eq!(
            first_heard(&pod, CLIENT_V6, POD_V6, PEER_V6),
            POD_V6,
            "{way}"
        );
        // The same packets do leave without the guard: the assertions above can fail.
        pod.inside.sh("nft flush ruleset");
        assert_eq!(
            first_heard(&pod, CLIENT_V4, POD_V4, PEER_V4),
            CLIENT_V4,
            "{way}"
        );
        assert_eq!(
            first_heard(&pod, CLIENT_V6, POD_V6, PEER_V6),
            CLIENT_V6,
            "{way}"
        );
    }
}

#[test]
fn inet_tells_the_sender_of_a_foreign_datagram() {
    let pod = Pod::new();
    pod.init("--steer inet");
    for (client, peer) in [(CLIENT_V4, PEER_V4), (CLIENT_V6, PEER_V6)] {
        let sent = pod
            .inside
            .enter(|| datagrams_as((client, 0).into())?.send_to(b"hello", (peer, 5300)));
        let refused = sent.expect_err("the guard drops it while it is sent");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    }
}

#[test]
fn connection_of_a_foreign_source_stays_inside() {
    for way in GUARDED {
        let pod = Pod::new();
        pod.init(way);
        assert_eq!(half_open(&pod, CLIENT_V4, PEER_V4), "", "{way}");
        assert_eq!(half_open(&pod, CLIENT_V6, PEER_V6), "", "{way}");
        pod.inside.sh("nft flush ruleset");
        assert!(
            half_open(&pod, CLIENT_V4, PEER_V4).contains("203.0.113.7"),
            "{way}"
        );
        assert!(
            half_open(&pod, CLIENT_V6, PEER_V6).contains("2001:db8::7"),
            "{way}"
        );
    }
}

#[test]
fn link_local_address_given_later_may_leave() {
    for way in GUARDED {
        let pod = Pod::new();
        pod.init(way);
        pod.inside.address("eth0", "fe80::2/64");
        pod.outside.address("peer0", "fe80::1/64");
        let own = IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 2]);
        let listener = pod
            .outside
            .enter(|| UdpSocket::bind("[::]:5300"))
            .expect("it is free");
        listener.set_read_timeout(Some(SOON)).expect("not zero");
        let neighbour = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
        let peer = SocketAddrV6::new(neighbour, 5300, 0, index(&pod.inside, "eth0"));
        let sender = pod
            .inside
            .enter(|| UdpSocket::bind("[::]:0"))
            .expect("a port is free");
        sender.send_to(b"hello", peer).expect("it leaves");
        let (_, seen) = listener.recv_from(&mut [0; 8]).expect("it arrives");
        assert_eq!(seen.ip(), own, "{way}");
    }
}

fn index(namespace: &Namespace, interface: &str) -> u32 {
    let index = namespace.sh(&format!("cat /sys/class/net/{interface}/ifindex"));
    index.trim().parse().expect("an index is a number")
}

/// Sends from a foreign source, then from the own, over one cable: who is heard first?
#[track_caller]
fn first_heard(pod: &Pod, foreign: IpAddr, own: IpAddr, peer: IpAddr) -> IpAddr {
    let listener = pod
        .outside
        .enter(|| UdpSocket::bind((peer, 5300)))
        .expect("it is free");
    listener.set_read_timeout(Some(SOON)).expect("not zero");
    pod.inside.enter(|| {
        for source in [foreign, own] {
            let socket = datagrams_as((source, 0).into()).expect("any source may be bound");
            // inet answers EPERM, netdev drops without a word.
            let sent = socket.send_to(b"hello", (peer, 5300));
            assert!(source == foreign || sent.is_ok(), "{sent:?}");
        }
    });
    let (_, seen) = listener
        .recv_from(&mut [0; 8])
        .expect("the own source always arrives");
    seen.ip()
}

/// Tries to connect from a foreign source; what the peer has half open afterwards.
#[track_caller]
fn half_open(pod: &Pod, foreign: IpAddr, peer: IpAddr) -> String {
    // The peer answers only what it has a way back to.
    pod.outside.sh("ip route replace 203.0.113.0/24 dev peer0
         ip -6 route replace 2001:db8::/32 dev peer0");
    let listener = pod
        .outside
        .enter(|| TcpListener::bind((peer, 5400)))
        .expect("it is free");
    let app = listener.local_addr().expect("it is bound");
    let _dialling = pod
        .inside
        .enter(|| begin_as((foreign, 0).into(), app))
        .expect("any source");
    // The cable keeps the order: once our own connection stands, the foreign one has been seen.
    let own = pod.inside.enter(|| TcpStream::connect_timeout(&app, SOON));
    own.expect("the own source always arrives");
    pod.outside.sh("ss -Htn state syn-recv")
}
