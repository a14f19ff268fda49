//! A pod and a neighbour on one cable, the program under test, and small apps that say who they
//! are and whom they see.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, Shutdown, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt,
    shutdown, socket, sockopt,
};

use crate::support::namespace::Namespace;
use crate::support::wait;

pub const POD_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));
pub const POD_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 2));
pub const PEER_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));
pub const PEER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1));

/// What peers dial, and the sidecar's own port.
pub const PORT: u16 = 8080;
pub const LISTEN: u16 = 15001;

/// Ways of asking for the same thing, each with its own rules, routes and tables.
pub const WAYS: [&str; 4] = [
    "--redirect 8080:15001",
    "--redirect 8080:15001 --steer inet",
    "--redirect 8080:15001 --source-mode transparent",
    "--steer same-port",
];

/// Anything on this cable takes a millisecond, on a machine that has time for it.
const SOON: Duration = Duration::from_secs(5);
/// Both kernels shake hands before `connect` returns, however busy the programs are: what has not
/// come by then will not.
const BRIEFLY: Duration = Duration::from_millis(300);

pub struct Pod {
    pub inside: Namespace,
    pub outside: Namespace,
}

impl Pod {
    pub fn new() -> Self {
        let pod = Self::without_addresses();
        pod.inside.address("eth0", &format!("{POD_V4}/24"));
        pod.inside.address("eth0", &format!("{POD_V6}/64"));
        settled(&pod.inside, "eth0", Some(POD_V6));
        settled(&pod.outside, "peer0", Some(PEER_V6));
        pod
    }

    pub fn without_ipv6() -> Self {
        let pod = Self::without_addresses();
        pod.inside
            .sh("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6");
        pod.inside.address("eth0", &format!("{POD_V4}/24"));
        pod
    }

    fn without_addresses() -> Self {
        let nft = Command::new("nft").arg("--version").output();
        nft.expect("these tests need nftables: apt-get install nftables");
        let pod = Self {
            inside: Namespace::new("pod"),
            outside: Namespace::new("peer"),
        };
        // Link-local addresses come and go with duplicate address detection: listings would differ.
        pod.inside.sh(&format!(
            "ip link add eth0 type veth peer name peer0 netns {}
             ip link set eth0 addrgenmode none up",
            pod.outside.name()
        ));
        pod.outside.sh("ip link set peer0 addrgenmode none up");
        pod.outside.address("peer0", &format!("{PEER_V4}/24"));
        pod.outside.address("peer0", &format!("{PEER_V6}/64"));
        settled(&pod.inside, "eth0", None);
        pod
    }

    /// `init` with these arguments, as root.
    pub fn try_init(&self, arguments: &str) -> Output {
        self.inside
            .command(env!("CARGO_BIN_EXE_proxyunwrap-dataplane"))
            .arg("init")
            .args(arguments.split_whitespace())
            .output()
            .expect("ip starts")
    }

    /// The same, and it must succeed; returns what it printed.
    #[track_caller]
    pub fn init(&self, arguments: &str) -> String {
        let output = self.try_init(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "init {arguments}: {error}");
        String::from_utf8(output.stdout).expect("init prints UTF-8")
    }

    /// The same, and it must fail with this exit code; returns the sentence.
    #[track_caller]
    pub fn init_fails(&self, arguments: &str, code: i32) -> String {
        let output = self.try_init(arguments);
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        assert_eq!(
            output.status.code(),
            Some(code),
            "init {arguments}: {error}"
        );
        error
    }

    /// Everything `init` may touch, as the usual commands show it.
    pub fn listings(&self) -> String {
        self.inside.sh(
            "ip rule; echo; ip -6 rule; echo; ip route show table all; echo
             ip -6 route show table all; echo; nft list ruleset",
        )
    }
}

/// The kernel brings up a cable and an IPv6 address a moment after the command: waits for both.
#[track_caller]
pub fn settled(namespace: &Namespace, interface: &str, address: Option<IpAddr>) {
    let what = format!("{interface} carries and has {address:?}");
    wait::until(&what, Duration::from_secs(5), || {
        let links = namespace.sh(&format!("ip -br link show {interface}"));
        let local = namespace.sh("ip -6 route show table local");
        let known = address.is_none_or(|ip| local.contains(&format!("local {ip} dev {interface}")));
        (links.contains(" UP ") && known).then_some(())
    });
}

/// Sends "name peer" to whoever connects, until this value goes.
pub struct App {
    listener: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl App {
    #[track_caller]
    pub fn start(namespace: &Namespace, name: &'static str, address: (IpAddr, u16)) -> Self {
        let listener = namespace
            .enter(|| TcpListener::bind(address))
            .expect("the port is free");
        let fd = listener
            .as_fd()
            .try_clone_to_owned()
            .expect("a descriptor is free");
        let thread = thread::spawn(move || {
            while let Ok((mut stream, peer)) = listener.accept() {
                let _ = stream.write_all(format!("{name} {peer}").as_bytes());
            }
        });
        Self {
            listener: fd,
            thread: Some(thread),
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What an app says to a connection from `namespace`: its name and the address it sees.
pub fn ask(namespace: &Namespace, app: (IpAddr, u16)) -> io::Result<String> {
    let stream = namespace.enter(|| TcpStream::connect_timeout(&app.into(), SOON))?;
    read(stream)
}

/// Nobody shakes hands with a connection from `namespace`.
#[track_caller]
pub fn nobody_answers(namespace: &Namespace, app: (IpAddr, u16)) {
    let stream = namespace.enter(|| TcpStream::connect_timeout(&app.into(), BRIEFLY));
    let error = stream.expect_err("nobody answers there");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
}

/// How many TCP segments the namespace had to send again.
#[track_caller]
pub fn segments_sent_again(namespace: &Namespace) -> u32 {
    let counters = namespace.sh("nstat -asz TcpRetransSegs");
    let line = counters
        .lines()
        .find(|line| line.starts_with("TcpRetransSegs"));
    let count = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    count.unwrap_or_else(|| panic!("nstat prints the counter, not {counters}"))
}

/// The name alone.
#[track_caller]
pub fn who_answers(namespace: &Namespace, app: (IpAddr, u16)) -> String {
    let answer = ask(namespace, app);
    let answer = answer.unwrap_or_else(|error| panic!("{app:?} does not answer: {error}"));
    answer.split(' ').next().unwrap_or_default().to_owned()
}

/// What an app says to a connection from a source of our choice, which nobody checks first.
/// Call it inside the namespace.
pub fn ask_as(source: SocketAddr, app: SocketAddr) -> io::Result<String> {
    let dialler = foreign_socket(source, SockType::Stream)?;
    setsockopt(&dialler, sockopt::ReuseAddr, &true)?;
    bind(dialler.as_raw_fd(), &SockaddrStorage::from(source))?;
    connect(dialler.as_raw_fd(), &SockaddrStorage::from(app))?;
    read(dialler.into())
}

/// A connection on its way from a source of our choice. Call it inside the namespace.
pub fn begin_as(source: SocketAddr, app: SocketAddr) -> io::Result<OwnedFd> {
    let dialler = foreign_socket(source, SockType::Stream)?;
    bind(dialler.as_raw_fd(), &SockaddrStorage::from(source))?;
    fcntl(&dialler, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    match connect(dialler.as_raw_fd(), &SockaddrStorage::from(app)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(dialler),
        Err(errno) => Err(errno.into()),
    }
}

/// A datagram socket of a source of our choice. Call it inside the namespace.
pub fn datagrams_as(source: SocketAddr) -> io::Result<UdpSocket> {
    let socket = foreign_socket(source, SockType::Datagram)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(source))?;
    Ok(socket.into())
}

/// IPv6 lets anyone take a foreign source who asks; IPv4 needs our route.
fn foreign_socket(source: SocketAddr, kind: SockType) -> io::Result<OwnedFd> {
    let family = match source {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if source.is_ipv6() {
        socket2::SockRef::from(&socket).set_freebind_v6(true)?;
    }
    Ok(socket)
}

fn read(mut stream: TcpStream) -> io::Result<String> {
    stream.set_read_timeout(Some(SOON))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A datagram there and back.
#[track_caller]
pub fn datagram_comes_back(from: &Namespace, source: IpAddr, to: &Namespace, target: IpAddr) {
    let server = to
        .enter(|| UdpSocket::bind((target, 5353)))
        .expect("the port is free");
    let client = from
        .enter(|| UdpSocket::bind((source, 0)))
        .expect("a port is free");
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(SOON)).expect("not zero");
    }
    let mut buffer = [0; 16];
    client
        .send_to(b"question", (target, 5353))
        .expect("the datagram leaves");
    let (_, peer) = server.recv_from(&mut buffer).expect("the question arrives");
    server.send_to(b"answer", peer).expect("the answer leaves");
    let (length, _) = client.recv_from(&mut buffer).expect("the answer arrives");
    assert_eq!(&buffer[..length], b"answer");
}

/// The commands of a dry run; a here-document belongs to its command.
pub fn commands(lines: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut in_document = false;
    for line in lines.lines() {
        match commands.last_mut().filter(|_| in_document) {
            Some(command) => command.extend(["\n", line]),
            None => commands.push(line.to_owned()),
        }
        in_document = (in_document || line.ends_with("<<'END'")) && line != "END";
    }
    commands
}
