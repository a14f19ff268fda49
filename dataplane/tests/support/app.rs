//! Apps that never heard of the PROXY protocol: plain listeners in the pod.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use nix::sys::socket::{Shutdown, shutdown};
use socket2::{Domain, Socket, Type};

use super::namespace::Namespace;
use super::stand::PATIENCE;
use super::wire;

const BACKLOG: i32 = 4096;

/// A listener in a pod, and a thread for each of its connections. It ends with this value.
pub struct App {
    listener: Arc<Socket>,
    clients: Arc<Mutex<Vec<SocketAddr>>>,
    accepting: Option<JoinHandle<()>>,
}

impl App {
    /// Listens on `address`; `[::]` takes clients of both families. `serve` gets each connection
    /// with the client it sees.
    #[track_caller]
    pub fn start(
        namespace: &Namespace,
        address: &str,
        serve: impl Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
    ) -> Self {
        let address: SocketAddr = address.parse().expect("the test names an address");
        let listener = Arc::new(namespace.enter(|| listen(address)));
        let clients = Arc::new(Mutex::new(Vec::new()));
        let (accepting, seen) = (Arc::clone(&listener), Arc::clone(&clients));
        let serve = Arc::new(serve);
        let accepting = thread::spawn(move || {
            while let Ok((socket, client)) = accepting.accept() {
                let client = plain(client.as_socket().expect("it is a TCP listener"));
                seen.lock().expect("nobody panics holding it").push(client);
                let (serve, stream) = (Arc::clone(&serve), TcpStream::from(socket));
                wire::be_patient(&stream, PATIENCE);
                thread::spawn(move || serve(stream, client));
            }
        });
        Self {
            listener,
            clients,
            accepting: Some(accepting),
        }
    }

    /// Whom it has seen so far, in order of accept.
    pub fn clients(&self) -> Vec<SocketAddr> {
        self.clients
            .lock()
            .expect("nobody panics holding it")
            .clone()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // Wakes accept(), which then fails: tcp_disconnect on a listener (inet_shutdown).
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A dual-stack listener sees IPv4 clients as `::ffff:a.b.c.d`.
fn plain(client: SocketAddr) -> SocketAddr {
    SocketAddr::new(client.ip().to_canonical(), client.port())
}

#[track_caller]
fn listen(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None);
    let socket = socket.expect("a descriptor is free");
    let listening = socket
        .set_reuse_address(true)
        .and_then(|()| socket.bind(&address.into()))
        .and_then(|()| socket.listen(BACKLOG));
    listening.unwrap_or_else(|error| panic!("the app listening on {address}: {error}"));
    socket
}

/// Reads to the end, then says whom it saw and what it read.
pub fn report(mut stream: TcpStream, client: SocketAddr) {
    let mut payload = Vec::new();
    if stream.read_to_end(&mut payload).is_ok() {
        let answer = [format!("{client} ").as_bytes(), &payload].concat();
        let _ = stream.write_all(&answer);
    }
}

/// Says whom it sees, then gives back what it reads, as it comes.
pub fn echo(mut stream: TcpStream, client: SocketAddr) {
    let mut buffer = [0; 4096];
    let mut answer = stream.write_all(format!("{client}\n").as_bytes());
    while answer.is_ok() {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => answer = stream.write_all(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
