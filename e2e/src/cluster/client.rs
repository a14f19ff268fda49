//! A client in a pod of its own.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use super::{Held, Load, Manifest, Namespace, Pod};

/// Its name, and that of its container.
const CLIENT: &str = "client";

/// A pod from which connections are made.
pub struct Client {
    /// The pod.
    pub pod: Pod,
}

/// What both sides say about one connection.
#[derive(Debug, Deserialize)]
pub struct Answer {
    /// The client's own end.
    pub local: SocketAddr,
    /// Whom it dialled.
    pub remote: SocketAddr,
    /// Who the app says the client is.
    pub reported: SocketAddr,
}

impl Client {
    /// Starts it.
    ///
    /// # Errors
    /// The pod does not become ready.
    pub async fn start(space: &Namespace) -> anyhow::Result<Self> {
        space.apply(&Manifest::read("client.yaml", &[])?).await?;
        let pod = space.pod(CLIENT);
        pod.ready().await?;
        Ok(Self { pod })
    }

    /// Asks the echo app at this address who it saw.
    ///
    /// # Errors
    /// The app does not answer, or not as it should.
    pub async fn ask(&self, address: SocketAddr) -> anyhow::Result<Answer> {
        self.run(&["ask", &address.to_string()]).await
    }

    /// Asks by HTTP.
    ///
    /// # Errors
    /// The app does not answer, or not as it should.
    pub async fn ask_http(&self, address: SocketAddr) -> anyhow::Result<Answer> {
        self.run(&["ask", "--http", &address.to_string()]).await
    }

    /// Begins to ask by HTTP again and again, many clients at once; the app is told to take so long
    /// for each answer.
    ///
    /// # Errors
    /// The command does not start.
    pub async fn load(&self, address: SocketAddr, wait: Duration) -> anyhow::Result<Load> {
        let (address, wait) = (address.to_string(), wait.as_millis().to_string());
        let command = [
            "/testapp",
            "load",
            &address,
            "--clients",
            "16",
            "--wait",
            &wait,
        ];
        Ok(Load::of(self.pod.start(CLIENT, &command).await?))
    }

    /// Opens a connection to the echo app and keeps it in use.
    ///
    /// # Errors
    /// The app does not answer.
    pub async fn hold(&self, address: SocketAddr) -> anyhow::Result<Held> {
        let command = ["/testapp", "hold", &address.to_string()];
        Held::of(self.pod.start(CLIENT, &command).await?).await
    }

    async fn run(&self, arguments: &[&str]) -> anyhow::Result<Answer> {
        let command = [&["/testapp"], arguments].concat();
        let found = self.pod.exec(CLIENT, &command).await?;
        Ok(serde_json::from_str(&found)?)
    }
}
