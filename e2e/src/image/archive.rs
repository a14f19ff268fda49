//! The OCI image layout, in a tar archive (OCI image specification 1.1: image-layout, manifest,
//! config).

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

use super::{Image, USER};

/// The one time there is: two builds a year apart are the same.
const CREATED: &str = "1970-01-01T00:00:00Z";

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

impl Image {
    /// The image as an archive for `ctr images import`, `kind load image-archive`, `docker load`.
    ///
    /// # Errors
    /// A path that tar cannot hold.
    pub fn to_archive(&self) -> io::Result<Vec<u8>> {
        let mut blobs = Blobs::default();
        let layer = blobs.add(LAYER, self.layer.to_tar()?);
        let config = blobs.add_json(CONFIG, &self.config(&layer["digest"]));
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        });
        let mut manifest = blobs.add_json(MANIFEST, &manifest);
        manifest["platform"] = json!({"architecture": self.architecture.name(), "os": "linux"});
        // containerd takes the first one for the image's name, others the second.
        let tag = self.name.rsplit(':').next().unwrap_or_default();
        manifest["annotations"] = json!({
            "io.containerd.image.name": self.name,
            "org.opencontainers.image.ref.name": tag,
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
        blobs.into_layout(&index)
    }

    fn config(&self, layer: &Value) -> Value {
        json!({
            "architecture": self.architecture.name(),
            "os": "linux",
            "created": CREATED,
            "config": {
                "User": USER,
                "WorkingDir": "/",
                "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": self.entrypoint,
                "StopSignal": self.stop_signal.as_deref().unwrap_or("SIGTERM"),
                "Labels": self.labels,
            },
            // A layer that is not compressed has its digest for its diff id.
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created": CREATED}],
        })
    }
}

/// Contents by their digest.
#[derive(Default)]
struct Blobs(BTreeMap<String, Vec<u8>>);

impl Blobs {
    /// Keeps a blob and answers its descriptor.
    fn add(&mut self, media_type: &str, content: Vec<u8>) -> Value {
        let digest = digest(&content);
        let descriptor = json!({
            "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": content.len(),
        });
        self.0.insert(digest, content);
        descriptor
    }

    fn add_json(&mut self, media_type: &str, value: &Value) -> Value {
        self.add(media_type, value.to_string().into_bytes())
    }

    fn into_layout(self, index: &Value) -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        put(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        put(&mut tar, "index.json", index.to_string().as_bytes())?;
        for (digest, content) in self.0 {
            put(&mut tar, &format!("blobs/sha256/{digest}"), &content)?;
        }
        tar.into_inner()
    }
}

/// SHA-256 in hexadecimal.
pub(super) fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(tar: &mut Builder<Vec<u8>>, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, path, content)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::super::{elf, program};
    use super::*;

    fn made(folder: &str, limit: u64) -> Result<Image, program::Error> {
        let folder = std::env::temp_dir().join(format!("{folder}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("proxyunwrap-dataplane");
        fs::write(&path, elf::tests::program(62, &[1])).unwrap();
        let image = program::image("localhost/proxyunwrap-dataplane:dev", &path, limit);
        fs::remove_dir_all(&folder).unwrap();
        image
    }

    fn image(folder: &str) -> Image {
        made(folder, 1000).unwrap()
    }

    fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (path, content)
        });
        entries.collect()
    }

    fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap();
        let blob = &files[&format!("blobs/{}", digest.replace(':', "/"))];
        assert_eq!(descriptor["size"], blob.len());
        assert_eq!(digest, format!("sha256:{}", self::digest(blob)));
        blob.clone()
    }

    fn parse(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn two_builds_are_byte_for_byte_the_same() {
        let first = image("first").to_archive().unwrap();
        let second = image("second").to_archive().unwrap();
        assert!(first == second);
    }

    #[test]
    fn every_descriptor_leads_to_its_blob() {
        let files = files(&image("blobs").to_archive().unwrap());
        let index = parse(&files["index.json"]);
        let manifest = parse(&blob(&files, &index["manifests"][0]));
        let config = parse(&blob(&files, &manifest["config"]));
        blob(&files, &manifest["layers"][0]);
        assert_eq!(
            config["rootfs"]["diff_ids"][0],
            manifest["layers"][0]["digest"]
        );
        assert_eq!(files.len(), 5, "oci-layout, index, manifest, config, layer");
    }

    #[test]
    fn the_dataplanes_image_runs_as_nobody_and_holds_one_file() {
        let image = image("nobody");
        let files = files(&image.to_archive().unwrap());
        let manifest = parse(&blob(&files, &parse(&files["index.json"])["manifests"][0]));
        let config = parse(&blob(&files, &manifest["config"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(
            config["config"]["Entrypoint"],
            json!(["/proxyunwrap-dataplane"])
        );
        let layer = blob(&files, &manifest["layers"][0]);
        let held: Vec<_> = self::files(&layer).into_keys().collect();
        assert_eq!(held, ["proxyunwrap-dataplane"]);
    }

    #[test]
    fn a_program_above_its_budget_is_refused() {
        let text = made("budget", 100).unwrap_err().to_string();
        let want = "has 120 bytes, and its image may have 100";
        assert!(text.contains(want), "{text}");
    }
}
