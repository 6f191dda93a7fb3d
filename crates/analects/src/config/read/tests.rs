//! What configuration files say, and what is wrong with them.

use super::*;

fn person(text: &str) -> Result<ConfigFile, Failure> {
    read(text, Path::new("config.toml"), Owner::Person)
}

fn project(text: &str) -> Result<ConfigFile, Failure> {
    read(text, Path::new(".analects.toml"), Owner::Project)
}

#[track_caller]
fn message(read: Result<ConfigFile, Failure>) -> String {
    read.unwrap_err().message
}

#[test]
fn models_and_agents() {
    let text = "[models]\ndefault = \"openai/big\"\nquick = 'openai/small'\n\n[agents.coder]\n\
                models = [\"openai/big\"]\ntemperature = 1\ncontext_window = 1_000\n\
                reasoning = true\nsystem_prompt = \"\"\"\nBe brief.\n\"\"\"\n[agents.\"x y\"]\n";
    for text in [
        text.to_string(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
    ] {
        let file = project(&text).unwrap();
        let pointers = file
            .pointers
            .iter()
            .map(|p| (p.name, p.model.as_str(), p.line));
        let pointers: Vec<_> = pointers.collect();
        assert_eq!(
            pointers,
            [("default", "openai/big", 2), ("quick", "openai/small", 3)]
        );
        let coder = file
            .agents
            .iter()
            .find(|known| known.agent.name == "coder")
            .unwrap();
        assert_eq!(coder.agent.temperature, 1.0);
        assert_eq!(
            (coder.agent.context_window, coder.agent.reasoning),
            (Some(1000), true)
        );
        assert!(
            coder
                .agent
                .system_prompt
                .as_deref()
                .unwrap()
                .starts_with("Be brief.")
        );
        assert!(coder.lines.contains(&("system_prompt", 10)));
        assert!(file.agents.iter().any(|known| known.agent.name == "x y"));
        assert_eq!(file.warnings, [""; 0]);
    }
}

#[test]
fn unknown_keys_are_warned_about() {
    let text = "colour = 1\nmodles = 2\n[models]\nquik = 'x'\n[agents.a]\ntemprature = 1\n";
    let warnings = person(text).unwrap().warnings.join("\n");
    for part in [
        "config.toml:1:1: warning: unknown key colour; expected one of models, agents",
        "config.toml:2:1: warning: unknown key modles; did you mean models?",
        "config.toml:4:1: warning: unknown key models.quik; did you mean quick?",
        "config.toml:6:1: warning: unknown key agents.a.temprature; did you mean temperature?",
    ] {
        assert!(warnings.contains(part), "{warnings}");
    }
}

#[test]
fn a_project_decides_nothing_that_matters() {
    for (text, key) in [
        ("base_url = 'http://evil'\n", "base_url"),
        ("\nbaseURL = 'http://evil'\n", "baseURL"),
        ("[openai]\nx = 1\napi_key = 'x'\n", "api_key"),
        ("[openai]\nAPI-TOKEN = 'x'\n", "API-TOKEN"),
        ("[agents.a]\nbase_url = 'x'\n", "base_url"),
        ("[models]\nserver = 'x'\n", "server"),
        ("[[x]]\ny = [[{ z = { command = 'rm' } }]]\n", "command"),
        ("[mcp]\n", "mcp"),
        ("store = '/'\n", "store"),
        ("[prices]\n", "prices"),
        ("http_proxy = 'x'\n", "http_proxy"),
    ] {
        let failure = project(text).unwrap_err();
        let line = 1 + text.lines().position(|line| line.contains(key)).unwrap();
        let place = format!(".analects.toml:{line}:");
        assert!(failure.message.starts_with(&place), "{}", failure.message);
        assert!(
            failure
                .message
                .ends_with(&format!("a project may not set {key}"))
        );
        assert!(!failure.message.contains("evil"), "{}", failure.message);
        // In the person's own file, it only means nothing yet.
        assert!(!person(text).unwrap().warnings.is_empty());
    }
    // An agent may be called as it likes.
    assert!(project("[agents.keymaster]\n").unwrap().warnings.is_empty());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, expected) in [
        (
            "[models]\ndefault = 3\n",
            "config.toml:2:11: default must be a string, and is of type integer",
        ),
        (
            "models = 'x'\n",
            "config.toml:1:10: models must be a table, and is of type string",
        ),
        (
            "[agents]\nx = []\n",
            "config.toml:2:5: x must be a table, and is of type array",
        ),
        (
            "[agents.tool]\n",
            "config.toml:1:9: \"tool\" is a type of cell",
        ),
        (
            "[agents.a]\ntemperature = 'hot'\n",
            "config.toml:2:15: temperature must be a number",
        ),
        (
            "[agents.a]\ntemperature = nan\n",
            "config.toml:2:15: temperature must be a number",
        ),
        (
            "[agents.a]\ncontext_window = -1\n",
            "config.toml:2:18: context_window must be a whole",
        ),
        (
            "[agents.a]\nreasoning = 'yes'\n",
            "config.toml:2:13: reasoning must be true or false",
        ),
        (
            "[agents.a]\nmodels = ['x', '']\n",
            "config.toml:2:16: models must name a model",
        ),
        (
            "[agents.a]\nmodels = ['replay:x']\n",
            "config.toml:2:11: a recording is named",
        ),
        (
            "[models]\ndefault = 'replay:x'\n",
            "config.toml:2:11: a recording is named",
        ),
        ("[models\n", "config.toml:1:"),
        ("a = 1\na = 2\n", "config.toml:2:"),
    ] {
        let message = message(person(text));
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn no_message_repeats_a_value() {
    for text in [
        "api_key = sk-secret\n",
        "api_key = 'sk-secret\n",
        "sk-secret\n",
        "[sk-secret\n",
    ] {
        let message = message(person(text));
        assert!(!message.contains("sk-secret"), "{message}");
    }
    let file = person("api_key = 'sk-secret'\n").unwrap();
    assert!(
        !file.warnings.join("").contains("sk-secret"),
        "{:?}",
        file.warnings
    );
}

#[test]
fn hostile_files_are_errors_not_crashes() {
    let deep = format!("x = {}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(person(&deep).is_err());
    assert!(project(&format!("{} = 1\n", ["a"; 50].join("."))).is_ok());
    assert!(person("\0").is_err());
    assert!(person("").unwrap().agents.is_empty());
}

#[test]
fn models_of_other_versions_are_kept() {
    let file = person("[models]\ndefault = 'somebody/new'\n[agents.a]\nmodels = 'bare'\n").unwrap();
    assert_eq!(file.pointers[0].model, "somebody/new");
    assert_eq!(file.agents[0].agent.models, ["bare"]);
}
