//! Promise: the Dockerfile and our own builder describe the same images.

use std::fs;
use std::path::Path;

use proxyunwrap_e2e::image::{USER, labels};

#[test]
fn the_dockerfile_says_what_the_builder_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Dockerfile");
    let text = fs::read_to_string(path).expect("the Dockerfile stands in the root folder");
    for stage in ["dataplane", "operator"] {
        let name = format!("proxyunwrap-{stage}");
        let lines = lines_of(&text, stage);
        let all = lines.join("\n");
        for (key, value) in labels(&name) {
            assert!(
                all.contains(&format!("{key}=\"{value}\"")),
                "{stage}: {key}"
            );
        }
        assert!(lines.contains(&&*format!("COPY --from=build-{stage} /{name} /{name}")));
        assert!(lines.contains(&&*format!("USER {USER}")));
        assert!(lines.contains(&&*format!("ENTRYPOINT [\"/{name}\"]")));
    }
}

/// The lines of a stage, up to the next one.
fn lines_of<'a>(text: &'a str, stage: &str) -> Vec<&'a str> {
    let begin = format!("FROM scratch AS {stage}\n");
    let (_, rest) = text.split_once(&begin).expect("a stage of that name");
    rest.lines()
        .take_while(|line| !line.starts_with("FROM "))
        .collect()
}
