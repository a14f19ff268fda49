//! Where a GET goes: request targets as kubelet makes them of paths, and redirects.
//!
//! A host is never looked up: kubelet follows redirects to the host it asked, which is this pod, and
//! takes every other for an answer.

use std::net::IpAddr;

use hyper::http::uri::Authority;

/// One address of the app as kubelet sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Whether it is `https`.
    pub(crate) tls: bool,
    /// The pod's address that kubelet asked.
    pub(crate) ip: IpAddr,
    /// The port.
    pub(crate) port: u16,
    /// Host and port as they are written.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) target: String,
}

/// Where a redirect leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To the same host; `absolute` when the location says host and scheme by itself.
    Here {
        /// The next address.
        url: Url,
        /// Whether the location names the host.
        absolute: bool,
    },
    /// To another host.
    Elsewhere,
    /// Nowhere: it cannot be read.
    Unreadable,
}

impl Url {
    pub(crate) fn new(tls: bool, ip: IpAddr, port: u16, target: &str) -> Self {
        Self {
            tls,
            ip,
            port,
            authority: authority(ip, port),
            target: target.to_owned(),
        }
    }

    /// Where `location` leads from here, after RFC 3986, section 5.2.
    pub(crate) fn follow(&self, location: &str) -> Next {
        let location = without_fragment(location);
        let Some((scheme, rest)) = split_scheme(location) else {
            return match location.strip_prefix("//") {
                Some(rest) => self.absolute(self.tls, rest),
                None => Next::Here {
                    url: self.at(&self.resolved(location)),
                    absolute: false,
                },
            };
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Next::Elsewhere,
        };
        match rest.strip_prefix("//") {
            Some(rest) => self.absolute(tls, rest),
            None => Next::Unreadable,
        }
    }

    /// `rest` is what stands behind `//`.
    fn absolute(&self, tls: bool, rest: &str) -> Next {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let Ok(parsed) = authority.parse::<Authority>() else {
            return Next::Unreadable;
        };
        let host = parsed.host().trim_matches(['[', ']']);
        if host.parse::<IpAddr>().ok() != Some(self.ip) {
            return Next::Elsewhere;
        }
        let port = match (parsed.port_u16(), tls) {
            (Some(port), _) => port,
            (None, true) => 443,
            (None, false) => 80,
        };
        let plain = authority.rsplit('@').next().unwrap_or(authority);
        Next::Here {
            url: Self {
                tls,
                ip: self.ip,
                port,
                authority: plain.to_owned(),
                target: target(&without_dots(path)),
            },
            absolute: true,
        }
    }

    fn at(&self, path: &str) -> Self {
        Self {
            target: target(path),
            ..self.clone()
        }
    }

    /// A location without scheme and host, made whole with our own path.
    fn resolved(&self, location: &str) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        if location.starts_with('/') {
            without_dots(location)
        } else if location.is_empty() || location.starts_with('?') {
            format!("{path}{location}")
        } else {
            let folder = path.rfind('/').map_or("/", |end| &path[..=end]);
            without_dots(&format!("{folder}{location}"))
        }
    }
}

/// What stands in the request line for a path as it is written: it begins with `/`, and what may not
/// stand there is escaped.
pub(crate) fn target(path: &str) -> String {
    let mut target = String::new();
    let path = without_fragment(path);
    if !path.starts_with('/') {
        target.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => target.push(char::from(byte)),
            _ => target.push_str(&format!("%{byte:02X}")),
        }
    }
    target
}

/// `address:port` as it stands in a Host header.
pub(crate) fn authority(ip: IpAddr, port: u16) -> String {
    match ip {
        IpAddr::V4(ip) => format!("{ip}:{port}"),
        IpAddr::V6(ip) => format!("[{ip}]:{port}"),
    }
}

fn without_fragment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default()
}

/// `scheme` and what follows its colon, if `text` begins with one.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let letter = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (letter && scheme.chars().all(plain)).then_some((scheme, rest))
}

/// Without `.` and `..` segments in the path (RFC 3986, section 5.2.4).
fn without_dots(text: &str) -> String {
    let (path, query) = match text.find('?') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut kept = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 0, 2));

    #[track_caller]
    fn leads(location: &str, to: &str) {
        let base = Url::new(false, POD, 8080, "/health/live?x=1");
        let got = match base.follow(location) {
            Next::Here { url, .. } => {
                let scheme = if url.tls { "https" } else { "http" };
                format!("{scheme} {} {} {}", url.port, url.authority, url.target)
            }
            other => format!("{other:?}"),
        };
        assert_eq!(got, to, "{location}");
    }

    #[test]
    fn a_path_is_made_fit_for_the_request_line() {
        for (path, want) in [
            ("", "/"),
            ("healthz", "/healthz"),
            ("/healthz?x=1&y=%20", "/healthz?x=1&y=%20"),
            ("/a b#top", "/a%20b"),
            ("/ü\r\nHost: x", "/%C3%BC%0D%0AHost:%20x"),
            ("?x", "/?x"),
        ] {
            assert_eq!(target(path), want);
        }
    }

    #[test]
    fn a_location_on_the_same_host_is_followed() {
        leads("/login", "http 8080 10.9.0.2:8080 /login");
        leads("ready", "http 8080 10.9.0.2:8080 /health/ready");
        leads("../x/./y/..", "http 8080 10.9.0.2:8080 /x/");
        leads("../../../x", "http 8080 10.9.0.2:8080 /x");
        leads("?y=2", "http 8080 10.9.0.2:8080 /health/live?y=2");
        leads("http://10.9.0.2:9090/a#b", "http 9090 10.9.0.2:9090 /a");
        leads("https://10.9.0.2", "https 443 10.9.0.2 /");
        leads("HTTP://u:p@10.9.0.2/?q", "http 80 10.9.0.2 /?q");
        leads("//10.9.0.2:81/p", "http 81 10.9.0.2:81 /p");
        leads("/a:b", "http 8080 10.9.0.2:8080 /a:b");
    }

    #[test]
    fn a_location_on_another_host_is_not() {
        for location in [
            "http://example.com/",
            "//10.9.0.3/",
            "https://127.0.0.1:8080/",
            "http://10.9.0.2.example.com/",
            "mailto:x@10.9.0.2",
        ] {
            leads(location, "Elsewhere");
        }
    }

    #[test]
    fn a_location_that_cannot_be_read_leads_nowhere() {
        for location in ["http:8080", "http:///x", "http://a b/", "http://[::1/"] {
            leads(location, "Unreadable");
        }
    }

    #[test]
    fn an_ipv6_host_is_the_same_however_it_is_written() {
        let base = Url::new(false, "2001:db8::7".parse().unwrap(), 8080, "/");
        assert_eq!(base.authority, "[2001:db8::7]:8080");
        let next = base.follow("http://[2001:DB8:0:0::7]:8080/x");
        assert!(matches!(next, Next::Here { absolute: true, .. }));
    }
}
