use super::fixture::*;
use crate::policy::*;
#[test]
fn perf() {
    let mut docs = Vec::new();
    for i in 0..100 {
        docs.push(format!("kind: ProxyUnwrap\nmetadata: {{name: u{i}, creationTimestamp: 2025}}\nspec: {{selector: {{matchLabels: {{app: app{i}, tier: web}}}}, trustedPeers: [{{nodes: {{}}}},{{cidrs: [10.{i}.0.0/16]}}]}}"));
    }
    for i in 0..100 {
        docs.push(format!("kind: Service\nmetadata: {{name: s{i}, annotations: {{proxyunwrap.dev/inject: 'true'}}}}\nspec: {{selector: {{app: app{i}}}, ports: [{{port: 80}}]}}"));
    }
    for i in 0..300 {
        docs.push(format!("kind: Node\nmetadata: {{name: n{i}}}\nspec: {{podCIDRs: [10.{}.{}.0/24]}}\nstatus: {{addresses: [{{type: InternalIP, address: 192.168.{}.{}}}]}}", i/250, i%250, i/250, i%250));
    }
    let world = world(&docs.join("\n---\n"));
    let settings = settings("");
    let pods: Vec<_> = (0..1000)
        .map(|i| {
            let mut p = pod(&format!(
                "{{labels: {{app: app{}, tier: web, n: p{i}}}}}",
                i % 100
            ));
            p.metadata.annotations =
                Some([("proxyunwrap.dev/header-timeout".to_owned(), "7s".to_owned())].into());
            p
        })
        .collect();
    let t = std::time::Instant::now();
    let mut r = Resolver::new(&world, &settings);
    let n = pods
        .iter()
        .filter(|p| matches!(select_with(p, NAMESPACE, &mut r), Selection::Governed(_)))
        .count();
    eprintln!("with {n} {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let n = pods
        .iter()
        .filter(|p| {
            matches!(
                select(p, NAMESPACE, &world, &settings),
                Selection::Governed(_)
            )
        })
        .count();
    eprintln!("plain {n} {:?}", t.elapsed());
}
