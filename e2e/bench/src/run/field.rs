//! Who takes part: finds or installs each contender, starts it, and makes sure that it does its work.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{Folder, Settings};
use crate::args::Run;
use crate::contender::Contender;
use crate::contender::obtain::{self, Program};
use crate::contender::recipe::{Kind, Recipe, recipe};
use crate::results::{Listed, Role, State};
use crate::rig::namespace::output;

/// A contender by name. Nothing of it is there yet.
#[derive(Clone, Debug)]
struct Candidate {
    name: String,
    kind: Kind,
    /// Where our own program is; peers are obtained.
    build: Option<PathBuf>,
}

/// Those that were asked for: the running ones, and the list of all with the reason where one does
/// not run.
pub(super) fn start(
    options: &Run,
    settings: &Settings,
    folder: &Folder,
) -> anyhow::Result<(Vec<Contender>, Vec<Listed>)> {
    let (mut field, mut all) = (Vec::new(), Vec::new());
    for candidate in chosen(candidates(&options.dataplane)?, &options.contenders)? {
        eprintln!("starting {}", candidate.name);
        let (contender, listed) = enlist(&candidate, options, settings, folder)?;
        if let State::Missing(why) | State::Broken(why) = &listed.state {
            eprintln!("  not measured: {why}");
            ensure!(listed.role == Role::Peer, "{}: {why}", listed.name);
        }
        field.extend(contender);
        all.push(listed);
    }
    Ok((field, all))
}

fn enlist(
    candidate: &Candidate,
    options: &Run,
    settings: &Settings,
    folder: &Folder,
) -> anyhow::Result<(Option<Contender>, Listed)> {
    let own = folder.of(&candidate.name)?;
    let mut listed = Listed {
        name: candidate.name.clone(),
        role: role(&candidate.kind),
        ..Listed::default()
    };
    let program = match program(candidate, &own) {
        Ok(program) => program,
        Err(why) => {
            listed.state = State::Missing(format!("{why:#}"));
            return Ok((None, listed));
        }
    };
    let path = program.path.display().to_string();
    let recipe = recipe(&candidate.kind, &path, &own, settings.room);
    describe(&mut listed, &program, &recipe);
    let name = &candidate.name;
    let started = Contender::start(
        name,
        &candidate.kind,
        recipe,
        own,
        options.header,
        settings.room.processors,
    );
    match started.and_then(proven) {
        Ok((contender, state)) => {
            listed.state = state;
            Ok((Some(contender), listed))
        }
        Err(why) => {
            listed.state = State::Broken(format!("{why:#}"));
            Ok((None, listed))
        }
    }
}

fn proven(mut contender: Contender) -> anyhow::Result<(Contender, State)> {
    let asked = contender.check()?;
    let state = if contender.is_peer() && asked.named != asked.seen {
        State::MeasuredWithAnotherPort
    } else {
        State::Measured
    };
    Ok((contender, state))
}

fn role(kind: &Kind) -> Role {
    match kind {
        Kind::Direct => Role::Direct,
        Kind::Ours { .. } => Role::Ours,
        Kind::GoMmproxy | Kind::KzemekGoMmproxy | Kind::MmproxyRs | Kind::Haproxy | Kind::Nginx => {
            Role::Peer
        }
    }
}

fn describe(listed: &mut Listed, program: &Program, recipe: &Recipe) {
    listed.version.clone_from(&program.version);
    listed.source.clone_from(&program.source);
    recipe.note.clone_into(&mut listed.note);
    let files = recipe
        .files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.clone()));
    listed.files = files.collect();
    listed.prepare.clone_from(&recipe.prepare);
    listed.command = recipe.command.join(" ");
}

fn program(candidate: &Candidate, folder: &Path) -> anyhow::Result<Program> {
    match (&candidate.kind, &candidate.build) {
        (Kind::Direct, _) => Ok(Program {
            path: PathBuf::new(),
            version: String::new(),
            source: String::new(),
        }),
        (Kind::Ours { .. }, Some(build)) => ours(build, folder),
        (kind, _) => obtain::peer(kind),
    }
}

/// A copy that uid 65532 may execute: a checkout under /root is closed to it.
fn ours(build: &Path, folder: &Path) -> anyhow::Result<Program> {
    let copy = folder.join("proxyunwrap-dataplane");
    output(
        Command::new("install")
            .args(["-m", "755"])
            .arg(build)
            .arg(&copy),
    )?;
    let version = output(Command::new(&copy).arg("--version"))?;
    Ok(Program {
        version: version
            .trim()
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
        source: "cargo build --locked --release -p proxyunwrap-dataplane".to_owned(),
        path: copy,
    })
}

/// Direct first, then our builds, then the peers.
fn candidates(builds: &[String]) -> anyhow::Result<Vec<Candidate>> {
    let candidate = |name: &str, kind| Candidate {
        name: name.to_owned(),
        kind,
        build: None,
    };
    let mut all = vec![candidate("direct", Kind::Direct)];
    for build in builds {
        let (name, path) = build.split_once('=').unwrap_or(("proxyunwrap", build));
        all.extend(engines(name, Path::new(path))?);
    }
    all.extend([
        candidate("go-mmproxy", Kind::GoMmproxy),
        candidate("kzemek-go-mmproxy", Kind::KzemekGoMmproxy),
        candidate("mmproxy-rs", Kind::MmproxyRs),
        candidate("haproxy", Kind::Haproxy),
        candidate("nginx", Kind::Nginx),
    ]);
    Ok(all)
}

/// One candidate for each engine of a build; one alone where there is no choice.
fn engines(name: &str, path: &Path) -> anyhow::Result<Vec<Candidate>> {
    let help = output(Command::new(path).args(["serve", "--help"]));
    let help =
        help.with_context(|| format!("{} is not our program: make release", path.display()))?;
    let candidate = |name: String, engine| Candidate {
        name,
        kind: Kind::Ours { engine },
        build: Some(path.to_owned()),
    };
    if !help.contains("--engine") {
        return Ok(vec![candidate(name.to_owned(), None)]);
    }
    let each = ["epoll", "io_uring"];
    Ok(each
        .map(|engine| candidate(format!("{name}-{engine}"), Some(engine)))
        .to_vec())
}

/// Those whose name is wanted, or begins with a wanted one and a dash.
fn chosen(all: Vec<Candidate>, wanted: &[String]) -> anyhow::Result<Vec<Candidate>> {
    let means = |wanted: &str, name: &str| {
        let rest = name.strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for wanted in wanted {
        if !all.iter().any(|candidate| means(wanted, &candidate.name)) {
            let names: Vec<_> = all
                .iter()
                .map(|candidate| candidate.name.as_str())
                .collect();
            bail!(
                "no contender is called {wanted}; there are {}",
                names.join(", ")
            );
        }
    }
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| means(wanted, name));
    Ok(all
        .into_iter()
        .filter(|candidate| is_wanted(&candidate.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[&str]) -> anyhow::Result<Vec<String>> {
        let all = ["direct", "new-epoll", "new-io_uring", "newer"].map(|name| Candidate {
            name: name.to_owned(),
            kind: Kind::Direct,
            build: None,
        });
        let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let chosen = chosen(all.to_vec(), &wanted)?;
        Ok(chosen.into_iter().map(|candidate| candidate.name).collect())
    }

    #[test]
    fn a_name_means_all_its_engines_and_nobody_else() {
        assert_eq!(names(&["new"]).unwrap(), ["new-epoll", "new-io_uring"]);
        assert_eq!(names(&["newer", "direct"]).unwrap(), ["direct", "newer"]);
        assert_eq!(names(&[]).unwrap().len(), 4);
        assert!(
            names(&["old"])
                .unwrap_err()
                .to_string()
                .contains("direct, new-epoll")
        );
    }
}
