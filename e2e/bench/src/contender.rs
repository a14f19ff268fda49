//! A contender that runs: a pair of namespaces joined by a cable, as balancer and pod are, with an app and
//! a proxy of its own in the pod.

pub(crate) mod obtain;
pub(crate) mod recipe;

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;

use self::recipe::{APP, Kind, Recipe};
use crate::load::{Asked, Found, Header};
use crate::rig::namespace::{Namespace, output};
use crate::rig::process::Process;
use crate::rig::{family, quiet};

/// The pod's address in every pair.
const POD: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Addresses of the balancer that connections come from: 10.9.1.0 and those that follow.
const SOURCE: &str = "10.9.1.0";
const SOURCES: &str = "200";

/// What the balancer is given, and what the pod.
const BALANCER_NETWORK: &str =
    "ip addr add 10.9.0.1/24 dev eth0; ip route add local 10.9.1.0/24 dev lo";
const POD_NETWORK: &str = "ip addr add 10.9.0.2/24 dev eth0; ip route add default via 10.9.0.1";

/// What a pod has on most nodes. Some kernels let a namespace have reno alone beside their default, and
/// without loss both do the same; others, such as bbr, pace what is sent even over a cable in memory.
const CONGESTION: &str = "for name in cubic reno; do
  if sysctl -qw net.ipv4.tcp_congestion_control=$name 2>/dev/null; then break; fi
done";

/// One contender, ready to be measured. Programs end before their namespaces go.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    recipe: Recipe,
    folder: PathBuf,
    header: Header,
    next_client: u64,
    disturbed: bool,
    /// This program's own path.
    me: String,
    proxy: Option<Process>,
    app: Process,
    pod: Namespace,
    balancer: Namespace,
}

impl Contender {
    /// Makes the place, and starts app and proxy in it.
    ///
    /// # Errors
    /// When a step fails; nothing is left behind then.
    pub(crate) fn start(
        name: &str,
        kind: &Kind,
        recipe: Recipe,
        folder: PathBuf,
        header: Header,
        processors: usize,
    ) -> anyhow::Result<Self> {
        let (balancer, pod) = (Namespace::new(&format!("{name}-b"))?, Namespace::new(name)?);
        balancer.cable(&pod)?;
        for (namespace, network) in [(&balancer, BALANCER_NETWORK), (&pod, POD_NETWORK)] {
            namespace.sh(CONGESTION)?;
            namespace.sh(network)?;
        }
        let me = std::env::current_exe().context("this program's own path")?;
        let me = me.display().to_string();
        let app = start_app(&me, &pod, &folder, processors)?;
        let header = if *kind == Kind::Direct {
            Header::None
        } else {
            header
        };
        let mut contender = Self {
            name: name.to_owned(),
            kind: kind.clone(),
            recipe,
            folder,
            header,
            next_client: 0,
            disturbed: false,
            me,
            proxy: None,
            app,
            pod,
            balancer,
        };
        contender.prepare()?;
        contender.restart()?;
        Ok(contender)
    }

    fn prepare(&self) -> anyhow::Result<()> {
        for (name, text) in &self.recipe.files {
            let path = self.folder.join(name);
            fs::write(&path, text)
                .with_context(|| format!("could not write {}", path.display()))?;
        }
        self.pod.sh(&self.recipe.prepare.join("\n"))?;
        Ok(())
    }

    /// A fresh proxy in place of the one that runs: it has held nothing yet.
    ///
    /// # Errors
    /// When it does not listen.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        let Some((program, words)) = self.recipe.command.split_first() else {
            return Ok(());
        };
        if let Some(mut old) = self.proxy.take() {
            old.end(Signal::SIGTERM);
        }
        let log = self.folder.join("proxy.log");
        let mut proxy = Process::start(self.pod.command(program).args(words), &log)?;
        proxy.listens(&self.pod, self.recipe.listens)?;
        self.proxy = Some(proxy);
        Ok(())
    }

    /// The congestion control of its connections.
    pub(crate) fn congestion(&self) -> anyhow::Result<String> {
        let name = self.pod.sh("sysctl -n net.ipv4.tcp_congestion_control")?;
        Ok(name.trim().to_owned())
    }

    /// The proxy's processes; none for direct.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let pids = self.proxy.as_ref().map(|proxy| family::pids(proxy.pid()));
        pids.unwrap_or_default()
    }

    /// A file of this contender.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn is_peer(&self) -> bool {
        !matches!(self.kind, Kind::Direct | Kind::Ours { .. })
    }

    /// Asks the app whom it sees.
    ///
    /// # Errors
    /// When that is not the client of the header; for direct, not the balancer.
    pub(crate) fn check(&mut self) -> anyhow::Result<Asked> {
        let said = output(&mut self.part("ask", &[]))?;
        self.next_client += 1;
        let asked: Asked = serde_json::from_str(&said).context("what `ask` printed")?;
        let wanted = match self.header {
            Header::None => SOURCE.parse()?,
            Header::V1 | Header::V2 => *asked.named.ip(),
        };
        ensure!(
            *asked.seen.ip() == wanted,
            "the app sees {} instead of {wanted}",
            asked.seen
        );
        Ok(asked)
    }

    /// Offers a load and returns what it found.
    ///
    /// # Errors
    /// When it could not be offered.
    pub(crate) fn offer(&mut self, words: &[String]) -> anyhow::Result<Found> {
        let watch = self.pids();
        let mut load = self.part("load", words);
        load.args(["--own", &joined(&[self.app.pid(), me()])]);
        if !watch.is_empty() {
            load.args(["--watch", &joined(&watch)]);
        }
        let found = parse(&output(&mut load)?)?;
        self.next_client += found.clients;
        self.disturbed |= found.cpu.others > quiet::QUIET * found.seconds;
        Ok(found)
    }

    /// Whether others used the processors during a load since this was asked last.
    pub(crate) fn take_disturbed(&mut self) -> bool {
        std::mem::take(&mut self.disturbed)
    }

    /// A load to be started by the caller, whose clients are counted as `clients`.
    pub(crate) fn load(&mut self, words: &[String], clients: u64) -> Command {
        let mut load = self.part("load", words);
        load.stdin(Stdio::piped()).stdout(Stdio::piped());
        self.next_client += clients;
        load
    }

    /// A part of this program, in the balancer's namespace.
    fn part(&self, part: &str, words: &[String]) -> Command {
        let to = SocketAddrV4::new(POD, self.recipe.front).to_string();
        let header = match self.header {
            Header::None => "none",
            Header::V1 => "v1",
            Header::V2 => "v2",
        };
        let first = self.next_client.to_string();
        let mut command = self.balancer.command(&self.me);
        command.arg(part).args(words);
        command.args(["--to", &to, "--header", header, "--first-client", &first]);
        command.args(["--source", SOURCE, "--sources", SOURCES]);
        command
    }
}

fn me() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn joined(pids: &[i32]) -> String {
    let pids: Vec<_> = pids.iter().map(i32::to_string).collect();
    pids.join(",")
}

fn parse(said: &str) -> anyhow::Result<Found> {
    serde_json::from_str(said.trim()).with_context(|| format!("what the load printed: {said}"))
}

fn start_app(
    me: &str,
    pod: &Namespace,
    folder: &Path,
    processors: usize,
) -> anyhow::Result<Process> {
    let mut command = pod.command(me);
    command.args([
        "app",
        "--port",
        &APP.to_string(),
        "--threads",
        &processors.to_string(),
    ]);
    let mut app = Process::start(&mut command, &folder.join("app.log"))?;
    app.listens(pod, APP)?;
    Ok(app)
}
