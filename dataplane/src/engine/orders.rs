//! What a worker is told, and does at once.

use std::rc::Rc;
use std::sync::Arc;

use super::backend::Backend;
use super::carry::LivePort;
use super::mailbox::{Handed, Order};
use super::places::Key;
use super::worker::Worker;
use super::{Opened, Setup};
use crate::config::Port;
use crate::connection::outcome::Outcome;

impl<B: Backend> Worker<B> {
    /// Does what it is told.
    pub(super) fn obey(&mut self, order: Order) {
        match order {
            Order::Setup(setup, added) => self.set_up(&setup, added),
            Order::Drain => {
                self.stop_accepting();
                self.refuse_strangers();
                self.draining = true;
            }
            Order::Cut => {
                self.stop_accepting();
                self.refuse_strangers();
                self.draining = true;
                self.cutting = true;
                self.cut_all();
            }
            Order::List(answer) => {
                let open = self
                    .connections
                    .iter()
                    .map(|carried| carried.open(self.now));
                let _ = answer.send(open.collect());
            }
            Order::Take(handed) => {
                let Handed {
                    at,
                    port,
                    setup,
                    socket,
                    peer,
                } = *handed;
                self.take_in(Rc::new(LivePort { port, setup }), at, socket, peer);
                if self.cutting {
                    self.cut_all();
                }
            }
        }
    }

    fn set_up(&mut self, setup: &Arc<Setup>, added: Opened) {
        self.limits = setup.limits;
        let live = |port: &Arc<Port>| {
            Rc::new(LivePort {
                port: Arc::clone(port),
                setup: Arc::clone(setup),
            })
        };
        let wanted: Vec<_> = setup
            .ports
            .iter()
            .flat_map(|(port, at)| {
                let live = live(port);
                at.iter().map(move |address| (*address, Rc::clone(&live)))
            })
            .collect();
        self.retain_listeners(&wanted);
        self.forget_pause();
        for (address, fd) in added {
            self.add_listener(address, fd, &wanted);
        }
        self.judge_strangers(&wanted);
    }

    fn cut_all(&mut self) {
        for key in self.keys() {
            self.cut(key, Outcome::Drained);
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.connections.iter().map(|carried| carried.key).collect()
    }
}
