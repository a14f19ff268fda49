//! Addresses that a node's connections may come from.
//!
//! kube-proxy and its replacements forward a connection through a Service with
//! externalTrafficPolicy Cluster from an address of the node: of its own, or of the interface that
//! leads to the pods. The latter is not in the node's status; where pod networks put it is known.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

/// Where Calico and Cilium say which address they gave the node.
const TUNNELS: [&str; 9] = [
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv6VXLANTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
    "projectcalico.org/IPv6WireguardInterfaceAddr",
    "network.cilium.io/ipv4-cilium-host",
    "network.cilium.io/ipv6-cilium-host",
    "io.cilium.network.ipv4-cilium-host",
    "io.cilium.network.ipv6-cilium-host",
];

/// All addresses of a node.
pub(super) fn addresses(node: &Node) -> Vec<IpNet> {
    let mut all = own(node);
    all.extend(pod_cidrs(node).into_iter().flat_map(gateways));
    let tunnels = TUNNELS
        .iter()
        .filter_map(|key| node.annotations().get(*key));
    all.extend(tunnels.filter_map(|text| address(text)));
    all.into_iter().map(IpNet::from).collect()
}

/// A host name counts where it is an address.
fn own(node: &Node) -> Vec<IpAddr> {
    let status = node.status.as_ref();
    let all = status.and_then(|status| status.addresses.as_ref());
    let kinds = ["InternalIP", "ExternalIP", "Hostname"];
    let meant = all
        .into_iter()
        .flatten()
        .filter(|one| kinds.contains(&one.type_.as_str()));
    meant.filter_map(|one| address(&one.address)).collect()
}

fn pod_cidrs(node: &Node) -> Vec<IpNet> {
    let spec = node.spec.as_ref();
    let several = spec.and_then(|spec| spec.pod_cidrs.as_deref());
    let one = spec.and_then(|spec| spec.pod_cidr.as_ref());
    let all = several.unwrap_or_default().iter().chain(one);
    all.filter_map(|text| text.parse().ok()).collect()
}

/// A vxlan interface takes the network's own address, a bridge the first host's.
fn gateways(cidr: IpNet) -> impl Iterator<Item = IpAddr> {
    let network = cidr.network();
    let first = match network {
        IpAddr::V4(network) => {
            let first = u32::from(network).checked_add(1);
            first.map(|first| Ipv4Addr::from(first).into())
        }
        IpAddr::V6(network) => {
            let first = u128::from(network).checked_add(1);
            first.map(|first| Ipv6Addr::from(first).into())
        }
    };
    let first = first.filter(|first| cidr.contains(first));
    std::iter::once(network).chain(first)
}

/// Some write the mask behind it.
fn address(text: &str) -> Option<IpAddr> {
    text.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, want: &[&str]) {
        let got = addresses(&serde_saphyr::from_str(yaml).unwrap());
        let got: Vec<_> = got.iter().map(|one| one.addr().to_string()).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn a_node_is_its_addresses_and_the_ends_of_its_pod_networks() {
        check(
            "{spec: {podCIDR: 10.244.3.0/24, podCIDRs: [10.244.3.0/24, 'fd00:244:0:3::/64']},
              status: {addresses: [{type: InternalIP, address: 192.0.2.3}, {type: ExternalIP, address: 198.51.100.3},
                {type: InternalIP, address: '2001:db8::3'}, {type: Hostname, address: worker-3},
                {type: InternalDNS, address: 203.0.113.9}]}}",
            &[
                "192.0.2.3", "198.51.100.3", "2001:db8::3", "10.244.3.0", "10.244.3.1",
                "fd00:244:0:3::", "fd00:244:0:3::1", "10.244.3.0", "10.244.3.1",
            ],
        );
    }

    #[test]
    fn a_host_name_that_is_an_address_counts() {
        check(
            "{status: {addresses: [{type: Hostname, address: 192.0.2.4}]}}",
            &["192.0.2.4"],
        );
    }

    #[test]
    fn tunnels_of_calico_and_cilium_count() {
        check(
            "{metadata: {annotations: {projectcalico.org/IPv4VXLANTunnelAddr: 10.244.9.64,
              projectcalico.org/IPv4Address: 192.0.2.7/24, network.cilium.io/ipv4-cilium-host: 10.0.1.5/32}}}",
            &["10.244.9.64", "10.0.1.5"],
        );
    }

    #[test]
    fn a_pod_network_of_one_address_and_text_that_is_none_do_no_harm() {
        check(
            "{spec: {podCIDRs: [255.255.255.255/32, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128', lots]}}",
            &["255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
        );
        check("{}", &[]);
    }
}
