//! What the process finds around itself: folders, keys, addresses. The only place that reads the
//! environment.

use std::env;
use std::path::PathBuf;

use analects_client::{Key, Proxies};
use analects_store::Places;

use crate::failure::{Failure, words};

/// Everything that the environment says.
pub struct Surroundings {
    /// Where the store is.
    pub places: Places,
    /// The folder that the command was called in.
    pub folder: PathBuf,
    /// Which models can be asked, and where.
    pub models: analects_client::Surroundings,
    /// The proxies between here and there.
    pub proxies: Proxies,
}

impl Surroundings {
    /// Reads the environment of this process.
    pub fn of_process() -> Result<Surroundings, Failure> {
        let folder = env::current_dir()
            .map_err(|error| format!("cannot find the current folder: {}", words(&error)))
            .map_err(Failure::input)?;
        Ok(Surroundings { places: places()?, folder, models: models(), proxies: proxies() })
    }

    /// Adds to a failure what the person can change in these surroundings.
    pub fn explain(&self, failure: Failure) -> Failure {
        if failure.is_about(&self.places.state) || failure.is_about(&self.places.data) {
            return failure.or_hint("set ANALECTS_HOME to a folder that you can write to");
        }
        failure
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn places() -> Result<Places, Failure> {
    if let Some(home) = variable("ANALECTS_HOME").map(PathBuf::from) {
        return Ok(Places { data: home.join("data"), state: home.join("state") });
    }
    let home = env::home_dir().ok_or_else(|| {
        Failure::usage("cannot find your home folder", "set ANALECTS_HOME to a folder of your own")
    })?;
    let place = |name, usual: &str| {
        let base = variable(name).map_or_else(|| home.join(usual), PathBuf::from);
        base.join("analects")
    };
    Ok(Places {
        data: place("XDG_DATA_HOME", ".local/share"),
        state: place("XDG_STATE_HOME", ".local/state"),
    })
}

fn models() -> analects_client::Surroundings {
    analects_client::Surroundings {
        openai_base_url: variable("OPENAI_BASE_URL").or_else(|| variable("OPENAI_API_BASE")),
        openai_key: variable("OPENAI_API_KEY").as_deref().and_then(Key::new),
    }
}

/// The proxy variables. `HTTP_PROXY` in capitals does not count: on a web server, a visitor could set
/// it.
fn proxies() -> Proxies {
    let either = |capital: &str, small: &str| variable(capital).or_else(|| variable(small));
    let all = || either("ALL_PROXY", "all_proxy");
    Proxies {
        http: variable("http_proxy").or_else(all),
        https: either("HTTPS_PROXY", "https_proxy").or_else(all),
        no_proxy: either("NO_PROXY", "no_proxy"),
    }
}
