//! The models of this machine, as the command uses them: what is said while one is fetched and its
//! server is started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use analects_client::{BaseUrl, Key, Model, Transport};
use analects_context::Tokenizer;
use analects_local::{LEASE, Local, LocalError, Pulling, Serving, Starting};
use analects_providers::vendors;
use analects_runtime::ServerStarter;

use crate::failure::{Failure, words};
use crate::surroundings::{self, Surroundings};
use crate::ui;

/// The models of this machine.
pub fn local(surroundings: &Surroundings) -> Result<Local, Failure> {
    let program = std::env::current_exe();
    let program =
        program.map_err(|error| Failure::ours(format!("cannot find myself: {}", words(&error))))?;
    // A program that was replaced while it runs is found by another name.
    let program = if program.is_file() {
        program
    } else {
        "/proc/self/exe".into()
    };
    let keys = vendors().iter().flat_map(|vendor| vendor.key_variables);
    Ok(Local {
        data: surroundings.places.data.clone(),
        state: surroundings.places.state.clone(),
        search_path: surroundings.search_path.clone(),
        program,
        lease: surroundings.lease.unwrap_or(LEASE),
        secrets: keys.map(|name| (*name).to_string()).collect(),
        python_environment: Some(surroundings::for_python()),
    })
}

/// If this is a model of this machine, starts its server and puts the way to it into the model. What
/// it needs is fetched if the person named it: `wanted` is what stands on the command line.
pub fn ready(
    model: &mut Model,
    wanted: Option<&str>,
    surroundings: &Surroundings,
) -> Result<Option<Arc<Serving>>, Failure> {
    if model.transport != Transport::Local {
        return Ok(None);
    }
    let local = local(surroundings)?;
    let named = wanted.or(surroundings.default_model.as_deref());
    let has_consent = named.is_some_and(|named| {
        named == model.name
            || named
                .split_once('/')
                .is_some_and(|(_, name)| name == model.name)
    });
    let serving = match serve(&local, &model.name) {
        Err(LocalError::NotPulled(_) | LocalError::NoEngine(_)) if has_consent => {
            pull(&local, &model.name)?;
            serve(&local, &model.name)
        }
        served => served,
    };
    let serving = serving.map_err(|error| surroundings.explain(error.into()))?;
    model.transport = way_to(&serving)?;
    Ok(Some(Arc::new(serving)))
}

fn way_to(serving: &Serving) -> Result<Transport, Failure> {
    let base_url = BaseUrl::parse(&format!("http://127.0.0.1:{}/v1", serving.port))?;
    Ok(Transport::Http {
        base_url,
        key: Key::new(&serving.key),
        as_bearer: false,
    })
}

fn serve(local: &Local, name: &str) -> Result<Serving, LocalError> {
    let serving = local.serve(name, &mut |starting| match starting {
        Starting::Waiting | Starting::Begin => ui::progress(&format!("starting local/{name} …")),
        Starting::DoesNotAnswer => ui::remark(&format!(
            "the server of local/{name} does not answer; it is ended and started again"
        )),
    });
    ui::progress("");
    serving
}

/// Fetches what a model needs, with a word before, between and after; false if nothing was missing.
pub fn pull(local: &Local, name: &str) -> Result<bool, Failure> {
    let mb = |bytes: u64| bytes.div_ceil(1_000_000);
    let pulled = local.pull(name, &mut |pulling| match pulling {
        Pulling::Waiting => ui::remark("another process is fetching a model; waiting for it"),
        Pulling::Damaged { name } => {
            ui::remark(&format!(
                "the weights of local/{name} are damaged, and are fetched again"
            ));
        }
        Pulling::Begin {
            name,
            about,
            download,
            disk,
        } => {
            if let Some(about) = about {
                ui::remark(&format!("local/{name} is {about}"));
            }
            let (download, disk) = (mb(download), mb(disk));
            ui::remark(&format!(
                "fetching {download} MB; it takes {disk} MB of disk"
            ));
        }
        Pulling::Fetched { bytes, of } => {
            ui::progress(&format!("{} of {} MB", bytes / 1_000_000, mb(of)));
        }
        Pulling::Done => {
            ui::progress("");
            ui::remark(&format!("local/{name} is ready"));
        }
    });
    pulled.map_err(|error| {
        ui::progress("");
        error.into()
    })
}

/// Starts the server of a local model that is needed only later, such as for a summary, and keeps it. Nothing is
/// fetched: nobody named the model for this call.
#[derive(Debug)]
pub struct LocalStarter {
    local: Option<Local>,
    /// By name; a model whose server did not start is not tried again.
    started: Mutex<HashMap<String, Option<(Model, Serving)>>>,
}

impl LocalStarter {
    pub fn new(surroundings: &Surroundings) -> LocalStarter {
        LocalStarter {
            local: local(surroundings).ok(),
            started: Mutex::default(),
        }
    }

    fn serve(&self, model: &Model) -> Option<(Model, Serving)> {
        let served = serve(self.local.as_ref()?, &model.name).map_err(Failure::from);
        let served = served.and_then(|serving| Ok((way_to(&serving)?, serving)));
        match served {
            Ok((transport, serving)) => Some((
                Model {
                    transport,
                    ..model.clone()
                },
                serving,
            )),
            Err(failure) => {
                let why = failure.message;
                ui::remark(&format!(
                    "warning: the model for summaries cannot be asked: {why}"
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
            .or_insert_with(|| self.serve(model));
        started.as_ref().map(|(model, _)| model.clone())
    }
}

/// Adds to a failed answer what is known about the server that gave it.
pub fn explain(failure: Failure, serving: Option<&Serving>) -> Failure {
    let Some(serving) = serving.filter(|_| failure.is_of_model()) else {
        return failure;
    };
    let Some(words) = serving.last_words() else {
        return failure;
    };
    let said = if words.is_empty() {
        String::new()
    } else {
        format!("; it said: {words}")
    };
    let message = format!("the server of the local model has ended{said}");
    let hint = format!(
        "ask again: it is started anew; its log is {}",
        serving.log.display()
    );
    Failure::of_model(message).or_hint(hint)
}

/// The vocabulary of a model that is being served.
#[derive(Debug)]
pub struct Vocabulary(pub Arc<Serving>);

impl Tokenizer for Vocabulary {
    fn name(&self) -> &str {
        "the local model's own"
    }

    fn count(&self, text: &str) -> Option<u64> {
        self.0.count_tokens(text)
    }
}

/// The server of a local model that is on this machine already, for its vocabulary. Nothing is fetched, and what
/// goes wrong is no reason not to estimate.
pub fn vocabulary(model: &Model, surroundings: &Surroundings) -> Option<Vocabulary> {
    if model.transport != Transport::Local {
        return None;
    }
    let serving = serve(&local(surroundings).ok()?, &model.name).ok()?;
    Some(Vocabulary(Arc::new(serving)))
}
