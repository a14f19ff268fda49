//! What goes on working in a prepared pod, and where connections end up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::pod::{
    App, LISTEN, PEER_V4, PEER_V6, POD_V4, POD_V6, PORT, Pod, WAYS, ask, commands,
    datagram_comes_back, nobody_answers, segments_sent_again, settled, who_answers,
};

const ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
const LOOPBACK_V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LOOPBACK_V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

const STEERED: [&str; 3] = [WAYS[0], WAYS[1], WAYS[2]];

#[test]
fn ordinary_traffic_is_as_before() {
    for way in WAYS {
        let pod = Pod::new();
        pod.init(way);
        let _other = App::start(&pod.inside, "other", (ANY, 9000));
        let _server = App::start(&pod.outside, "server", (ANY, 80));
        for (pods, peers, loopback) in [
            (POD_V4, PEER_V4, LOOPBACK_V4),
            (POD_V6, PEER_V6, LOOPBACK_V6),
        ] {
            assert_eq!(
                who_answers(&pod.outside, (pods, 9000)),
                "other",
                "{way}: in"
            );
            assert_eq!(
                who_answers(&pod.inside, (peers, 80)),
                "server",
                "{way}: out"
            );
            assert_eq!(
                who_answers(&pod.inside, (loopback, 9000)),
                "other",
                "{way}: loopback"
            );
            assert_eq!(
                who_answers(&pod.inside, (pods, 9000)),
                "other",
                "{way}: itself"
            );
            datagram_comes_back(&pod.outside, peers, &pod.inside, pods);
            datagram_comes_back(&pod.inside, pods, &pod.outside, peers);
        }
    }
}

#[test]
fn the_pod_is_seen_with_its_own_address() {
    let pod = Pod::new();
    pod.init(WAYS[0]);
    let _server = App::start(&pod.outside, "server", (ANY, 80));
    let seen = ask(&pod.inside, (PEER_V4, 80)).expect("it answers");
    assert!(
        seen.starts_with(&format!("server [::ffff:{POD_V4}]:")),
        "{seen}"
    );
    let seen = ask(&pod.inside, (PEER_V6, 80)).expect("it answers");
    assert!(seen.starts_with(&format!("server [{POD_V6}]:")), "{seen}");
}

#[test]
fn redirected_port_is_the_sidecar_outside_and_the_app_inside() {
    for way in STEERED {
        let pod = Pod::new();
        pod.init(way);
        let _app = App::start(&pod.inside, "app", (ANY, PORT));
        let _sidecar = App::start(&pod.inside, "sidecar", (ANY, LISTEN));
        for (pods, loopback) in [(POD_V4, LOOPBACK_V4), (POD_V6, LOOPBACK_V6)] {
            assert_eq!(who_answers(&pod.outside, (pods, PORT)), "sidecar", "{way}");
            assert_eq!(who_answers(&pod.inside, (pods, PORT)), "app", "{way}");
            assert_eq!(who_answers(&pod.inside, (loopback, PORT)), "app", "{way}");
            nobody_answers(&pod.outside, (pods, LISTEN));
        }
    }
}

#[test]
fn redirected_port_without_a_sidecar_is_refused_at_once() {
    let pod = Pod::new();
    pod.init(WAYS[0]);
    let _app = App::start(&pod.inside, "app", (ANY, PORT));
    for pods in [POD_V4, POD_V6] {
        let refused = ask(&pod.outside, (pods, PORT)).expect_err("nobody listens");
        assert_eq!(
            refused.kind(),
            std::io::ErrorKind::ConnectionRefused,
            "{refused}"
        );
    }
}

#[test]
fn several_ports_reach_their_own_sidecar_ports() {
    for steer in ["netdev", "inet"] {
        let pod = Pod::new();
        pod.init(&format!(
            "--steer {steer} --redirect 8080:15001 --redirect 8443:15002"
        ));
        let _first = App::start(&pod.inside, "first", (ANY, 15001));
        let _second = App::start(&pod.inside, "second", (ANY, 15002));
        assert_eq!(who_answers(&pod.outside, (POD_V4, 8080)), "first");
        assert_eq!(who_answers(&pod.outside, (POD_V6, 8443)), "second");
    }
}

#[test]
fn address_and_routes_added_later_work_after_a_second_init() {
    for way in WAYS {
        let pod = Pod::new();
        pod.init(way);
        let (later_v4, later_v6) = (
            IpAddr::from([10, 9, 0, 77]),
            IpAddr::from([0xfd00, 9, 0, 0, 0, 0, 0, 0x77]),
        );
        pod.inside.address("eth0", &format!("{later_v4}/24"));
        pod.inside.address("eth0", &format!("{later_v6}/64"));
        settled(&pod.inside, "eth0", Some(later_v6));
        pod.inside
            .sh("ip route add default via 10.9.0.1; ip -6 route add default via fd00:9::1");
        let said = pod.init(way);
        assert!(said.starts_with("wrote nft table"), "{said}");
        let _other = App::start(&pod.inside, "other", (ANY, 9000));
        for (later, peers) in [(later_v4, PEER_V4), (later_v6, PEER_V6)] {
            assert_eq!(who_answers(&pod.outside, (later, 9000)), "other", "{way}");
            datagram_comes_back(&pod.inside, later, &pod.outside, peers);
        }
    }
}

#[test]
fn no_step_of_init_or_undo_loses_a_packet() {
    for way in STEERED {
        let pod = Pod::new();
        let _other = App::start(&pod.inside, "other", (ANY, 9000));
        let _server = App::start(&pod.outside, "server", (ANY, 80));
        for run in [way, "--undo"] {
            for step in commands(&pod.init(&format!("{run} --dry-run"))) {
                pod.inside.sh(&step);
                for (pods, peers) in [(POD_V4, PEER_V4), (POD_V6, PEER_V6)] {
                    let after = format!("{way}, after {step}");
                    assert_eq!(who_answers(&pod.outside, (pods, 9000)), "other", "{after}");
                    assert_eq!(who_answers(&pod.inside, (peers, 80)), "server", "{after}");
                }
            }
        }
        for namespace in [&pod.inside, &pod.outside] {
            assert_eq!(segments_sent_again(namespace), 0, "{way}");
        }
    }
}
