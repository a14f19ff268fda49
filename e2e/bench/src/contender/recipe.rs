//! How each contender is set up: files, lines and a command, as its documentation says. Plain data, so
//! that what ran and what the report says is one thing.

use std::path::Path;

/// The app's port, in every contender's namespace.
pub(crate) const APP: u16 = 8080;

/// The port at which a peer takes connections. Ours takes them at the app's own, as in a pod.
const FRONT: u16 = 7000;

/// Where our dataplane listens behind the redirect of `init`.
const OURS: u16 = 15001;

/// What a contender may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) processors: usize,
    /// Connections that the limit of descriptors leaves room for, at two each.
    pub(crate) connections: u64,
}

/// What runs between load and app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: the load dials the app.
    Direct,
    /// One of our builds, with an engine if it knows that flag.
    Ours {
        /// `--engine`.
        engine: Option<&'static str>,
    },
    /// path-network/go-mmproxy.
    GoMmproxy,
    /// kzemek/go-mmproxy.
    KzemekGoMmproxy,
    /// saiko-tech/mmproxy-rs.
    MmproxyRs,
    /// HAProxy with a transparent source.
    Haproxy,
    /// nginx's stream module with a transparent source.
    Nginx,
}

/// A contender, ready to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Name and text of each file in the contender's folder.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Lines for a shell in the namespace, as root.
    pub(crate) prepare: Vec<String>,
    /// The program; empty for direct.
    pub(crate) command: Vec<String>,
    /// What the load dials.
    pub(crate) front: u16,
    /// What listens when it is ready.
    pub(crate) listens: u16,
    /// What the report should say of the settings.
    pub(crate) note: &'static str,
}

/// go-mmproxy's README. mmproxy-rs has the same; HAProxy's and nginx's documents ask for the like.
const RETURN_PATH: [&str; 2] = [
    "ip rule add from 127.0.0.1/8 iif lo table 123",
    "ip route add local 0.0.0.0/0 dev lo table 123",
];

/// What the sidecar's security context takes away: root, every capability, and the way back.
const UNPRIVILEGED: [&str; 7] = [
    "setpriv",
    "--reuid=65532",
    "--regid=65532",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--no-new-privs",
];

/// The recipe for `program`, in `folder`.
pub(crate) fn recipe(kind: &Kind, program: &str, folder: &Path, room: Room) -> Recipe {
    let file = |name: &str| folder.join(name).display().to_string();
    match kind {
        Kind::Direct => direct(),
        Kind::Ours { engine } => ours(program, &file("config.yaml"), *engine),
        Kind::GoMmproxy | Kind::KzemekGoMmproxy => go(program, &file("networks.txt"), room),
        Kind::MmproxyRs => mmproxy_rs(program, &file("networks.txt")),
        Kind::Haproxy => haproxy(program, &file("haproxy.cfg"), room),
        Kind::Nginx => nginx(program, folder, room),
    }
}

fn direct() -> Recipe {
    Recipe {
        files: Vec::new(),
        prepare: Vec::new(),
        command: Vec::new(),
        front: APP,
        listens: APP,
        note: "no header, no proxy",
    }
}

fn ours(program: &str, config: &str, engine: Option<&str>) -> Recipe {
    let text = format!(
        "version: 1\n\
         ports:\n\
         - name: app\n  port: {APP}\n  listen: {OURS}\n  app: {APP}\n  \
         peers: {{require: [10.9.0.0/16]}}\n"
    );
    let serve = [program, "serve", "--config", config];
    let engine = engine.map(|engine| ["--engine", engine]);
    Recipe {
        files: vec![("config.yaml", text)],
        prepare: vec![format!("{program} init --config {config}")],
        command: words(&[
            &UNPRIVILEGED,
            &serve,
            engine.as_ref().map_or(&[], |words| words),
        ]),
        front: APP,
        listens: OURS,
        note: "as in a pod: redirect and guard by `init`, uid 65532, no capability",
    }
}

fn go(program: &str, networks: &str, room: Room) -> Recipe {
    let (listen, app) = (format!("0.0.0.0:{FRONT}"), format!("127.0.0.1:{APP}"));
    let listeners = room.processors.to_string();
    let flags = [
        "-l",
        &listen,
        "-4",
        &app,
        "-6",
        "[::1]:8080",
        "--allowed-subnets",
        networks,
    ];
    Recipe {
        files: vec![networks_file()],
        prepare: RETURN_PATH.map(str::to_owned).to_vec(),
        command: words(&[&[program], &flags, &["-listeners", &listeners]]),
        front: FRONT,
        listens: FRONT,
        note: "root; a listener for each processor",
    }
}

fn mmproxy_rs(program: &str, networks: &str) -> Recipe {
    let (listen, app) = (format!("10.9.0.2:{FRONT}"), format!("127.0.0.1:{APP}"));
    Recipe {
        files: vec![networks_file()],
        prepare: RETURN_PATH.map(str::to_owned).to_vec(),
        command: words(&[&[
            program,
            "-l",
            &listen,
            "-4",
            &app,
            "-a",
            networks,
            "--listeners",
            "4096",
        ]]),
        front: FRONT,
        listens: FRONT,
        note: "root; its `--listeners` is the backlog, so it is large",
    }
}

fn haproxy(program: &str, config: &str, room: Room) -> Recipe {
    let (threads, most) = (room.processors, room.connections);
    let text = format!(
        "global\n  nbthread {threads}\n  maxconn {most}\n  maxpipes 128\n\
         defaults\n  mode tcp\n  option splice-auto\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
         frontend front\n  bind 0.0.0.0:{FRONT} accept-proxy\n  maxconn {most}\n  default_backend app\n\
         backend app\n  source 0.0.0.0 usesrc client\n  server app 127.0.0.1:{APP}\n"
    );
    Recipe {
        files: vec![("haproxy.cfg", text)],
        prepare: RETURN_PATH.map(str::to_owned).to_vec(),
        command: words(&[&[program, "-db", "-f", config]]),
        front: FRONT,
        listens: FRONT,
        note: "root; splice-auto, a thread for each processor, no log",
    }
}

fn nginx(program: &str, folder: &Path, room: Room) -> Recipe {
    let (workers, most) = (room.processors, 2 * room.connections);
    let text = format!(
        "include /etc/nginx/modules-enabled/*.conf;\n\
         user root;\nworker_processes {workers};\n\
         daemon off;\npid {};\nerror_log stderr crit;\n\
         events {{ worker_connections {most}; }}\n\
         stream {{\n  access_log off;\n  server {{\n    \
         listen {FRONT} proxy_protocol reuseport backlog=4096;\n    set_real_ip_from 10.9.0.0/16;\n    \
         proxy_bind $remote_addr transparent;\n    proxy_buffer_size 64k;\n    proxy_timeout 1h;\n    \
         proxy_pass 127.0.0.1:{APP};\n  }}\n}}\n",
        folder.join("nginx.pid").display(),
    );
    let config = folder.join("nginx.conf").display().to_string();
    Recipe {
        files: vec![("nginx.conf", text)],
        prepare: RETURN_PATH.map(str::to_owned).to_vec(),
        command: words(&[&[program, "-c", &config]]),
        front: FRONT,
        listens: FRONT,
        note: "root; a worker for each processor, reuseport, buffers of 64k",
    }
}

fn networks_file() -> (&'static str, String) {
    ("networks.txt", "10.9.0.0/16\n".to_owned())
}

fn words(parts: &[&[&str]]) -> Vec<String> {
    parts
        .concat()
        .iter()
        .map(|word| (*word).to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
