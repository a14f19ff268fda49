//! Reads the settings, and says what is wrong with them and where.

use std::path::{Path, PathBuf};

use super::Settings;

/// Namespaces that are never served: what runs there keeps the cluster alive.
const NEVER: [&str; 2] = ["kube-system", "kube-node-lease"];

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// No file.
    #[error("could not read the settings {}", path.display())]
    File {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not YAML, or not our fields.
    #[error("{field}: {message}")]
    Syntax {
        /// The field it happened at.
        field: String,
        /// Line, column and what was expected.
        message: String,
    },
    /// A value that makes no sense.
    #[error("{field}: {message}")]
    Value {
        /// The field it is in.
        field: &'static str,
        /// What is wrong with it and what to write instead.
        message: String,
    },
}

impl Settings {
    /// Reads the file. `namespace` is ours, which is never served.
    ///
    /// # Errors
    /// The first thing that is wrong, with the field it is in.
    pub fn read(path: &Path, namespace: &str) -> Result<Self, BadSettings> {
        let text = std::fs::read_to_string(path).map_err(|source| BadSettings::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, namespace)
    }

    /// Reads a text. `namespace` is ours, which is never served.
    ///
    /// # Errors
    /// The first thing that is wrong, with the field it is in.
    pub fn parse(text: &str, namespace: &str) -> Result<Self, BadSettings> {
        let mut field = String::new();
        let settings = serde_saphyr::with_deserializer_from_str(text, |yaml| {
            serde_path_to_error::deserialize(yaml).map_err(|error| {
                field = error.path().to_string();
                error.into_inner()
            })
        });
        let mut settings: Self = settings.map_err(|error| BadSettings::Syntax {
            field: if field == "." {
                "settings".to_owned()
            } else {
                field
            },
            message: error.to_string(),
        })?;
        settings.check()?;
        let never = NEVER.iter().copied().chain([namespace]);
        settings.namespaces.exclude.extend(never.map(str::to_owned));
        Ok(settings)
    }

    fn check(&self) -> Result<(), BadSettings> {
        if self.trusted_peers.is_empty() {
            return bad(
                "trustedPeers",
                "is empty: name the networks of your balancers, such as 10.0.0.0/8; whom to \
                 believe is never guessed",
            );
        }
        let names = [
            ("dataplane.image", &self.dataplane.image),
            ("webhook.configuration", &self.webhook.configuration),
            ("webhook.service", &self.webhook.service),
            ("webhook.secret", &self.webhook.secret),
            ("controller.lease", &self.controller.lease),
        ];
        if let Some((field, _)) = names.iter().find(|(_, name)| name.trim().is_empty()) {
            return bad(field, "is empty: give it a name");
        }
        if self.controller.pod_patches_per_second == 0 {
            return bad(
                "controller.podPatchesPerSecond",
                "is 0: running pods would never get a new configuration; give at least 1",
            );
        }
        self.check_certificate()
    }

    fn check_certificate(&self) -> Result<(), BadSettings> {
        let certificate = &self.webhook.certificate;
        if certificate.life.0 < SHORTEST_LIFE {
            return bad(
                "webhook.certificate.life",
                "is below 10m, too short to rotate in peace",
            );
        }
        if certificate.ca_life.0 < certificate.life.0 * 3 {
            return bad(
                "webhook.certificate.caLife",
                "is shorter than three times webhook.certificate.life: the CA would end before \
                 what it signs",
            );
        }
        Ok(())
    }
}

/// A certificate is made anew after two thirds of its life, and a new CA needs minutes to be known.
const SHORTEST_LIFE: std::time::Duration = std::time::Duration::from_secs(600);

fn bad(field: &'static str, message: &str) -> Result<(), BadSettings> {
    Err(BadSettings::Value {
        field,
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
trustedPeers: [10.0.0.0/8]
dataplane: { image: registry.example/pu:1 }
webhook: { configuration: pu, service: pu, secret: pu-tls }
";

    fn error(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replace(from, to);
        Settings::parse(&text, "pu-system").unwrap_err().to_string()
    }

    #[test]
    fn the_shortest_settings_are_read_with_their_defaults() {
        let settings = Settings::parse(GOOD, "pu-system").unwrap();
        assert!(settings.webhook.certificate.managed);
        assert_eq!(settings.controller.pod_patches_per_second, 200);
    }

    #[test]
    fn namespaces_that_keep_the_cluster_alive_and_our_own_are_excluded_whatever_is_written() {
        let text = format!("{GOOD}namespaces: {{ exclude: [legacy] }}\n");
        let settings = Settings::parse(&text, "pu-system").unwrap();
        let excluded: Vec<_> = settings.namespaces.exclude.iter().collect();
        assert_eq!(
            excluded,
            ["kube-node-lease", "kube-system", "legacy", "pu-system"]
        );
    }

    #[test]
    fn nobody_to_believe_is_refused_with_what_to_write() {
        let error = error("[10.0.0.0/8]", "[]");
        assert!(
            error.starts_with("trustedPeers: is empty: name the networks"),
            "{error}"
        );
    }

    #[test]
    fn an_error_names_the_field_it_is_in() {
        for (from, to, field, what) in [
            (
                "10.0.0.0/8",
                "10.0.0.0/33",
                "trustedPeers[0]",
                "is not a network",
            ),
            ("image:", "imagee:", "dataplane", "imagee"),
            ("secret: pu-tls", "secret: ''", "webhook.secret", "is empty"),
            (
                "trustedPeers",
                "trustedPeer",
                "trustedPeer",
                "unknown field",
            ),
            (
                "pu-tls }",
                "pu-tls, certificate: { life: 1m } }",
                "webhook.certificate.life",
                "10m",
            ),
            (
                "pu-tls }",
                "pu-tls, certificate: { life: 1d, caLife: 2d } }",
                "webhook.certificate.caLife",
                "three times",
            ),
            (
                "dataplane:",
                "controller: { podPatchesPerSecond: 0 }\ndataplane:",
                "controller.podPatchesPerSecond",
                "at least 1",
            ),
        ] {
            let error = error(from, to);
            assert!(error.starts_with(field), "{to}: {error}");
            assert!(error.contains(what), "{to}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Settings::read(Path::new("/nowhere/config.yaml"), "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "could not read the settings /nowhere/config.yaml"
        );
    }
}
