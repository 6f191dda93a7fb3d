//! Local models, as the command uses them: downloads them, starts their servers, and says how far that is.
//!
//! [`ensure_running`] is for the model that answers, [`LocalStarter`] for the model that writes summaries, and
//! [`tokenizer`] for counting without asking. A server runs as long as somebody holds its [`LocalServer`], so callers
//! keep the value until the answer is complete.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use analects_client::{BaseUrl, Key, Model, Transport};
use analects_context::{TemplateTokens, Tokenizer};
use analects_local::{LEASE, Local, LocalError, LocalServer, PullProgress, StartProgress};
use analects_providers::vendors;
use analects_runtime::ServerStarter;

use crate::environment::{self, Environment};
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// The local models of this environment.
/// Reads and starts nothing. The keys of all providers are among the secrets that servers do not see.
pub fn models(environment: &Environment) -> Result<Local, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::internal(format!("cannot find myself: {}", io_error_text(&error)))
    })?;
    // A program that was replaced while it runs is found by another name.
    let program = if program.is_file() {
        program
    } else {
        "/proc/self/exe".into()
    };
    let secrets = vendors()
        .iter()
        .flat_map(|vendor| vendor.key_variables)
        .map(|name| (*name).to_string())
        .collect();
    Ok(Local {
        data: environment.places.data.clone(),
        state: environment.places.state.clone(),
        search_path: environment.search_path.clone(),
        program,
        lease: environment.lease.unwrap_or(LEASE),
        secrets,
        python_environment: Some(environment::for_python()),
    })
}

/// If this is a local model, starts its server and sets the model's transport to it. Downloads what is missing only if
/// you named the model; `wanted` is the name on the command line. `None` for any other model.
/// A download you did not ask for would be a surprise, so a model that a file names is an error until you fetch it.
pub fn ensure_running(
    model: &mut Model,
    wanted: Option<&str>,
    environment: &Environment,
) -> Result<Option<Arc<LocalServer>>, Failure> {
    if model.transport != Transport::Local {
        return Ok(None);
    }
    let local = models(environment)?;
    let named = wanted.or(environment.default_model.as_deref());
    let may_download = named.is_some_and(|named| names_model(named, &model.name));
    let mut serving = serve(&local, &model.name);
    let is_missing = matches!(
        serving,
        Err(LocalError::NotPulled(_) | LocalError::NoEngine(_))
    );
    if is_missing && may_download {
        pull(&local, &model.name)?;
        serving = serve(&local, &model.name);
    }
    let serving = serving.map_err(|error| environment.explain(error.into()))?;
    model.transport = transport_to(&serving)?;
    Ok(Some(Arc::new(serving)))
}

/// Whether `named`, with or without its provider, is this model.
/// Both `local/smollm2` and `smollm2` name the model `smollm2`.
fn names_model(named: &str, model: &str) -> bool {
    let without_provider = named.split_once('/').map(|(_, name)| name);
    named == model || without_provider == Some(model)
}

/// The transport to a server on this machine.
/// The key is that of this start of the server.
fn transport_to(serving: &LocalServer) -> Result<Transport, Failure> {
    let base_url = BaseUrl::parse(&format!("http://127.0.0.1:{}/v1", serving.port))?;
    Ok(Transport::Http {
        base_url,
        key: Key::new(&serving.key),
        as_bearer: false,
    })
}

/// Starts the server of a model, or joins one that runs.
/// The status line says so while it starts.
fn serve(local: &Local, name: &str) -> Result<LocalServer, LocalError> {
    let serving = local.serve(name, &mut |starting| match starting {
        StartProgress::Waiting | StartProgress::Begin => {
            ui::progress(&format!("starting local/{name} …"))
        }
        StartProgress::DoesNotAnswer => ui::remark(&format!(
            "the server of local/{name} does not answer; restarting it"
        )),
    });
    ui::progress("");
    serving
}

/// Downloads what a model needs, and shows the progress. `false` if nothing was missing.
/// Also replaces damaged weights. The status line is cleared in any case.
pub fn pull(local: &Local, name: &str) -> Result<bool, Failure> {
    let pulled = local.pull(name, &mut |pulling| show_progress(name, pulling));
    pulled.map_err(|error| {
        ui::progress("");
        error.into()
    })
}

/// Prints what a download of this model is doing.
/// Sizes are in MB of a million bytes, as disks and networks count.
fn show_progress(model: &str, pulling: PullProgress<'_>) {
    match pulling {
        PullProgress::Waiting => ui::remark("another process is fetching a model; waiting for it"),
        PullProgress::Damaged { name } => {
            ui::remark(&format!(
                "the weights of local/{name} are damaged; fetching them again"
            ));
        }
        PullProgress::Begin {
            name,
            about,
            download,
            disk,
        } => {
            if let Some(about) = about {
                ui::remark(&format!("local/{name} is {about}"));
            }
            let download = megabytes(download);
            let disk = megabytes(disk);
            ui::remark(&format!(
                "fetching {download} MB; it takes {disk} MB of disk"
            ));
        }
        PullProgress::Fetched { bytes, of } => {
            ui::progress(&format!("{} of {} MB", bytes / 1_000_000, megabytes(of)));
        }
        PullProgress::Done => {
            ui::progress("");
            ui::remark(&format!("local/{model} is ready"));
        }
    }
}

/// Bytes in MB, rounded up.
fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// Starts the server of a local model only when it is needed, such as for a summary, and keeps it running. Downloads
/// nothing, since you did not name the model in this call.
/// A turn holds it, so the servers run until the turn is over.
#[derive(Debug)]
pub struct LocalStarter {
    /// `None` if this program cannot be found on the disk, so no server can start.
    local: Option<Local>,
    /// By name. `None` for a server that did not start, which is not tried again.
    started: Mutex<HashMap<String, Option<StartedModel>>>,
}

/// A model whose transport leads to its running server.
#[derive(Debug)]
struct StartedModel {
    model: Model,
    /// Keeps the server running.
    _serving: LocalServer,
}

impl LocalStarter {
    /// A starter that has started nothing yet.
    pub fn new(environment: &Environment) -> LocalStarter {
        LocalStarter {
            local: models(environment).ok(),
            started: Mutex::default(),
        }
    }

    /// Starts the server of a model.
    /// Fails without a download if the model is not here.
    fn try_start(local: &Local, model: &Model) -> Result<StartedModel, Failure> {
        let serving = serve(local, &model.name)?;
        let model = Model {
            transport: transport_to(&serving)?,
            ..model.clone()
        };
        Ok(StartedModel {
            model,
            _serving: serving,
        })
    }

    /// The model with its server, or `None` after a warning.
    /// Printed once for each model, since a failed start is remembered.
    fn start_or_warn(&self, model: &Model) -> Option<StartedModel> {
        match LocalStarter::try_start(self.local.as_ref()?, model) {
            Ok(started) => Some(started),
            Err(failure) => {
                let reason = failure.message;
                ui::remark(&format!(
                    "warning: the model for summaries cannot be asked: {reason}"
                ));
                None
            }
        }
    }
}

impl ServerStarter for LocalStarter {
    fn start(&self, model: &Model) -> Option<Model> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let started = started
            .entry(model.name.clone())
            .or_insert_with(|| self.start_or_warn(model));
        started.as_ref().map(|started| started.model.clone())
    }
}

/// Replaces the failure of an answer if the local server that gave it has ended.
/// A crash looks like a broken connection to the client, which is why only the log has the reason.
pub fn explain_failure(failure: Failure, serving: Option<&LocalServer>) -> Failure {
    let Some(serving) = serving.filter(|_| failure.is_model()) else {
        return failure;
    };
    let Some(words) = serving.last_words() else {
        return failure;
    };
    let output = if words.is_empty() {
        String::new()
    } else {
        format!("; it said: {words}")
    };
    let log = serving.log.display();
    Failure::model(format!("the server of the local model has ended{output}"))
        .or_hint(format!("ask again to restart it; its log is {log}"))
}

/// Counts tokens with the vocabulary and the chat template of a model that is being served.
/// Holds the server, so counting works as long as the value lives.
#[derive(Debug)]
pub struct LocalTokenizer {
    serving: Arc<LocalServer>,
    /// What the chat template adds, once it is known. `None` if the server does not say.
    template: OnceLock<Option<TemplateTokens>>,
}

impl LocalTokenizer {
    /// A tokenizer that asks this server.
    pub fn new(serving: Arc<LocalServer>) -> LocalTokenizer {
        let template = OnceLock::new();
        LocalTokenizer { serving, template }
    }

    /// Measures what the chat template adds, by what it makes of three short conversations.
    fn measure_template(&self) -> Option<TemplateTokens> {
        let word = self.serving.count_tokens(PROBE)?;
        let bare = self.serving.count_prompt_tokens(&["user"], PROBE)?;
        let short = self
            .serving
            .count_prompt_tokens(&["system", "user"], PROBE)?;
        let roles = ["system", "user", "assistant", "user"];
        let long = self.serving.count_prompt_tokens(&roles, PROBE)?;
        // The long one has two more turns, each with one word.
        let per_turn = (long.checked_sub(short)? / 2).checked_sub(word)?;
        Some(TemplateTokens {
            per_turn,
            with_system: short.checked_sub(2 * word + per_turn)?,
            without_system: bare.checked_sub(word + per_turn)?,
        })
    }
}

/// The text of each message with which a template is measured.
const PROBE: &str = "x";

impl Tokenizer for LocalTokenizer {
    fn name(&self) -> &str {
        "the local model's own"
    }

    fn count(&self, text: &str) -> Option<u64> {
        self.serving.count_tokens(text)
    }

    fn template(&self) -> Option<TemplateTokens> {
        *self.template.get_or_init(|| self.measure_template())
    }
}

/// A tokenizer for a local model, whose server it starts. `None` for any other model, for one that is not downloaded,
/// and after any error: the caller estimates then.
/// Counting exactly is worth a start of the server, which the next question needs anyway.
pub fn tokenizer(model: &Model, environment: &Environment) -> Option<LocalTokenizer> {
    if model.transport != Transport::Local {
        return None;
    }
    let serving = serve(&models(environment).ok()?, &model.name).ok()?;
    Some(LocalTokenizer::new(Arc::new(serving)))
}
