//! What was typed: commands, flags, environment. Nothing is decided here.

use std::ffi::OsString;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::config::compat::Flags;
use crate::config::file::{ADMIN_PORT, SourceMode};
use crate::engine::{Choice, Relay, Scheduling};
use crate::routes;

/// go-mmproxy's flags of more than one letter, which Go lets one write with one dash.
const GO_FLAGS: [&str; 4] = ["allowed-subnets", "close-after", "listeners", "mark"];

/// Unwraps the PROXY protocol in a pod and dials the app as the client.
#[derive(Debug, Parser)]
#[command(name = "proxyunwrap-dataplane", version, about, long_about = None)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take connections, unwrap the header, dial the app as the client
    Serve(Serve),
    /// Prepare this network namespace (needs NET_ADMIN, once)
    Init(Init),
    /// Make the `serve` of this pod unready while it still accepts, and wait: for preStop hooks
    Drain(Drain),
}

/// `serve`: by a file, or by go-mmproxy's flags for one port.
#[derive(Args, Debug)]
pub struct Serve {
    /// Configuration file; read again on SIGHUP and when it changes
    #[arg(long, env = "PROXYUNWRAP_CONFIG", conflicts_with_all = ["allowed_subnets", "listen", "ipv4", "ipv6"])]
    pub config: Option<PathBuf>,
    /// kubelet's probes to answer on the admin port, as the operator writes them: a JSON object
    #[arg(long, env = "PROXYUNWRAP_PROBES", value_name = "JSON")]
    pub probes: Option<String>,
    /// How payload is carried
    #[arg(long, value_enum, env = "PROXYUNWRAP_RELAY", default_value_t = Relay::Auto)]
    pub relay: Relay,
    /// How sockets are served; auto is epoll, since io_uring has not been measured to be better
    #[arg(long, value_enum, env = "PROXYUNWRAP_ENGINE", default_value_t = Choice::Auto)]
    pub engine: Choice,
    /// Whether workers interrupt who runs when they are woken: batch does not, and does more
    #[arg(long, value_enum, env = "PROXYUNWRAP_SCHEDULING", default_value_t = Scheduling::Batch)]
    pub scheduling: Scheduling,
    /// Check the configuration and the probes, print what is wrong with it, and end
    #[arg(long)]
    pub check: bool,
    /// File with a network a line whose headers are believed (go-mmproxy)
    #[arg(long, value_name = "FILE")]
    pub allowed_subnets: Option<PathBuf>,
    /// Address to listen on (go-mmproxy)
    #[arg(short = 'l', value_name = "ADDRESS", default_value = "0.0.0.0:8443")]
    pub listen: SocketAddr,
    /// Where clients of IPv4 are dialled for (go-mmproxy)
    #[arg(short = '4', value_name = "ADDRESS", default_value = "127.0.0.1:443")]
    pub ipv4: SocketAddrV4,
    /// Where clients of IPv6 are dialled for (go-mmproxy)
    #[arg(short = '6', value_name = "ADDRESS", default_value = "[::1]:443")]
    pub ipv6: SocketAddrV6,
    /// Protocol: tcp (go-mmproxy)
    #[arg(short = 'p', value_name = "PROTOCOL", default_value = "tcp", value_parser = ["tcp"])]
    pub protocol: String,
    /// Mark of app-side sockets; needs NET_RAW or NET_ADMIN (go-mmproxy)
    #[arg(long, default_value_t = 0)]
    pub mark: u32,
    /// Worker threads, each with a listener of its own (go-mmproxy)
    #[arg(long, default_value_t = 1)]
    pub listeners: usize,
    /// Access log: 0 none, 1 errors, 2 everything (go-mmproxy)
    #[arg(short = 'v', value_name = "LEVEL", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub verbose: u8,
    /// Seconds after which an idle UDP flow ends (go-mmproxy); no meaning for TCP
    #[arg(long, default_value_t = 60)]
    pub close_after: u32,
    /// How the client's address becomes our source, with go-mmproxy's flags
    #[arg(long, value_enum, default_value_t = SourceMode::Auto)]
    pub source_mode: SourceMode,
    /// Address of /livez, /readyz and /metrics, with go-mmproxy's flags
    #[arg(long, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
}

impl Serve {
    /// go-mmproxy's flags among these.
    pub fn flags(&self) -> Flags {
        Flags {
            listen: self.listen,
            ipv4: self.ipv4,
            ipv6: self.ipv6,
            mark: self.mark,
            listeners: self.listeners,
            verbose: self.verbose,
            source_mode: self.source_mode,
            admin: self.admin,
        }
    }
}

/// `drain`: whom to ask, and how long to wait.
#[derive(Args, Debug)]
pub struct Drain {
    /// Admin port of `serve` on loopback
    #[arg(long, value_name = "PORT", default_value_t = ADMIN_PORT)]
    pub admin: u16,
    /// How long to wait afterwards, so that balancers notice
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub wait: Duration,
}

/// `init`: what to prepare, and for which ports.
#[derive(Args, Debug)]
pub struct Init {
    /// Configuration file of `serve`: its ports are steered
    #[arg(long, env = "PROXYUNWRAP_CONFIG")]
    pub config: Option<PathBuf>,
    /// What to prepare.
    #[command(flatten)]
    pub options: routes::Options,
}

/// The command line as clap is to see it: `-allowed-subnets` as `--allowed-subnets`, and `serve`
/// put in when the first word is one of its flags, so that a go-mmproxy command line works.
pub fn normalised(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<_> = words.into_iter().map(double_dash).collect();
    let own = ["-h", "--help", "-V", "--version"];
    let first = words.get(1).and_then(|word| word.to_str());
    if first.is_some_and(|word| word.starts_with('-') && !own.contains(&word)) {
        words.insert(1, "serve".into());
    }
    words
}

fn double_dash(word: OsString) -> OsString {
    let Some(text) = word.to_str() else {
        return word;
    };
    let name = text.split('=').next().unwrap_or(text);
    match name.strip_prefix('-') {
        Some(flag) if GO_FLAGS.contains(&flag) => format!("-{text}").into(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(line: &str) -> Serve {
        let words = line.split(' ').map(OsString::from);
        match Cli::try_parse_from(normalised(words)).map(|cli| cli.command) {
            Ok(Command::Serve(serve)) => serve,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_go_mmproxy_command_line_means_the_same() {
        let line = "go-mmproxy -l 0.0.0.0:25577 -4 127.0.0.1:25578 -6 [::1]:25578 \
                    -allowed-subnets ./path-prefixes.txt -mark=123 -listeners 4 -v 2";
        let got = serve(line);
        assert_eq!(got.allowed_subnets, Some("./path-prefixes.txt".into()));
        let want = Flags {
            listen: "0.0.0.0:25577".parse().unwrap(),
            ipv4: "127.0.0.1:25578".parse().unwrap(),
            ipv6: "[::1]:25578".parse().unwrap(),
            mark: 123,
            listeners: 4,
            verbose: 2,
            source_mode: SourceMode::Auto,
            admin: None,
        };
        assert_eq!(got.flags(), want);
    }

    #[test]
    fn go_mmproxys_defaults_are_ours() {
        let flags = serve("go-mmproxy --allowed-subnets list").flags();
        assert_eq!(flags.listen, "0.0.0.0:8443".parse().unwrap());
        assert_eq!((flags.listeners, flags.verbose, flags.mark), (1, 0, 0));
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
