//! Promise: the Dockerfile and our own builder describe the same image.

use std::fs;
use std::path::Path;

use proxyunwrap_e2e::image::{USER, labels};

#[test]
fn the_dockerfile_says_what_the_builder_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Dockerfile");
    let text = fs::read_to_string(path).expect("the Dockerfile stands in the root folder");
    let (_, stage) = text
        .split_once("FROM scratch AS dataplane\n")
        .expect("a stage of that name");
    let name = "proxyunwrap-dataplane";
    for (key, value) in labels(name) {
        assert!(stage.contains(&format!("{key}=\"{value}\"")), "{key}");
    }
    let lines: Vec<_> = stage.lines().collect();
    assert!(lines.contains(&&*format!("USER {USER}")));
    assert!(lines.contains(&&*format!("ENTRYPOINT [\"/{name}\"]")));
}
