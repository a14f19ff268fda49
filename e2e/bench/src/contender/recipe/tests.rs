use super::*;

fn of(kind: &Kind) -> Recipe {
    let room = Room {
        processors: 2,
        connections: 900,
    };
    recipe(kind, "/bin/it", Path::new("/folder"), room)
}

#[test]
fn ours_runs_without_root_and_any_capability() {
    let command = of(&Kind::Ours { engine: None }).command.join(" ");
    assert!(command.starts_with("setpriv --reuid=65532"), "{command}");
    assert!(command.contains("--bounding-set=-all"), "{command}");
    assert!(
        command.ends_with("serve --config /folder/config.yaml"),
        "{command}"
    );
}

#[test]
fn an_engine_is_asked_for_by_its_flag() {
    let engine = Some("io_uring");
    let command = of(&Kind::Ours { engine }).command;
    assert_eq!(command[command.len() - 2..], ["--engine", "io_uring"]);
}

#[test]
fn peers_have_the_rules_of_their_readme_and_ours_its_init() {
    assert_eq!(of(&Kind::Haproxy).prepare, of(&Kind::GoMmproxy).prepare);
    let init = &of(&Kind::Ours { engine: None }).prepare;
    assert_eq!(init[..], ["/bin/it init --config /folder/config.yaml"]);
}

#[test]
fn go_has_a_listener_for_each_processor() {
    let command = of(&Kind::KzemekGoMmproxy).command.join(" ");
    assert!(command.ends_with("-listeners 2"), "{command}");
}
