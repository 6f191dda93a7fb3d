//! The packages that can be downloaded, with the hash of every file, from `data/packages.json`.
//!
//! Every file is named by its hash, so nobody who controls the index or the network can replace one. The table also has
//! the sizes, so that a download can be announced and refused before it starts.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::LocalError;

/// Everything that can be downloaded.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Packages {
    /// The server, as a wheel with native libraries: one file for each kind of machine.
    pub(crate) engine: Package,
    /// In the order in which the table lists them.
    pub(crate) models: Vec<PullableModel>,
}

/// A package of the index of Python packages.
#[derive(Debug, Default, Clone, Deserialize)]
pub(crate) struct Package {
    /// As the index spells it, for the line of requirements.
    pub(crate) name: String,
    /// Exactly this version is downloaded. The wheel's folder has it in its name, so a new version of this program
    /// downloads anew.
    pub(crate) version: String,
    wheels: Vec<Wheel>,
}

/// One file of a package, for one kind of machine or for `any`.
#[derive(Debug, Clone, Deserialize)]
struct Wheel {
    /// The system and the processor, such as `linux-x86_64`, or `any`.
    platform: String,
    sha256: String,
    /// What is downloaded.
    bytes: u64,
    /// What it takes on the disk after that.
    unpacked: u64,
}

/// A model that can be downloaded by its name.
#[derive(Debug, Clone, Deserialize)]
pub struct PullableModel {
    /// The name.
    pub model: String,
    /// A sentence about the model.
    pub about: String,
    /// The path of the weights in the package.
    pub(crate) file: String,
    /// The size and the hash of the weights, to find damaged ones.
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) package: Package,
}

/// How many bytes a download has, and how many it takes on the disk once unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) download: u64,
    pub(crate) disk: u64,
}

/// The engine and all models.
/// The table is parsed once and part of the program.
pub(crate) fn packages() -> &'static Packages {
    static READ: OnceLock<Packages> = OnceLock::new();
    // A test reads it, so that it cannot be broken.
    READ.get_or_init(|| {
        serde_json::from_str(include_str!("../data/packages.json")).unwrap_or_default()
    })
}

/// The model of that name.
/// `None` if it cannot be downloaded, such as a file that the person added.
pub(crate) fn pullable(name: &str) -> Option<&'static PullableModel> {
    packages().models.iter().find(|model| model.model == name)
}

impl Package {
    /// The line of a requirements file. With its hashes, pip accepts no other files.
    /// The result looks like `name==1.2.3 --hash=sha256:… --hash=sha256:…`. pip picks the file for the machine itself.
    pub(crate) fn requirement(&self) -> String {
        let hashes = self
            .wheels
            .iter()
            .map(|wheel| format!(" --hash=sha256:{}", wheel.sha256));
        format!(
            "{}=={}{}\n",
            self.name,
            self.version,
            hashes.collect::<String>()
        )
    }

    /// The size of the package for this machine.
    /// Fails with [`LocalError::NoWheel`], so that nothing is downloaded where nothing can run.
    pub(crate) fn size(&self) -> Result<Size, LocalError> {
        let here = platform();
        let fits = |wheel: &&Wheel| wheel.platform == "any" || wheel.platform == here;
        let wheel = self
            .wheels
            .iter()
            .find(fits)
            .ok_or(LocalError::NoWheel(here))?;
        Ok(Size {
            download: wheel.bytes,
            disk: wheel.unpacked,
        })
    }
}

/// The kind of machine this is, as the table names it.
fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    //! The table is whole.

    use super::*;

    #[test]
    fn everything_is_pinned() {
        let packages = packages();
        let systems = [
            "linux-x86_64",
            "linux-aarch64",
            "macos-aarch64",
            "macos-x86_64",
        ];
        let known: Vec<&str> = packages
            .engine
            .wheels
            .iter()
            .map(|w| w.platform.as_str())
            .collect();
        assert_eq!(known, systems);
        let all = packages
            .models
            .iter()
            .map(|model| &model.package)
            .chain([&packages.engine]);
        for package in all {
            let requirement = package.requirement();
            assert!(
                requirement.starts_with(&format!("{}=={} --hash", package.name, package.version))
            );
            for wheel in &package.wheels {
                assert!(wheel.sha256.len() == 64 && requirement.contains(&wheel.sha256));
                assert!(wheel.bytes > 1_000_000 && wheel.unpacked > wheel.bytes);
            }
        }
        for model in &packages.models {
            assert!(
                model.sha256.len() == 64 && model.bytes > 1_000_000,
                "{}",
                model.model
            );
        }
        assert!(pullable("smollm2").is_some_and(|model| model.about.contains("tiny")));
    }
}
