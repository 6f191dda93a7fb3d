//! Finds a Python that can run the engine, and a pip that can download it.
//!
//! Nothing here may change the person's Python: a missing pip is put into the staging folder, and the small programs
//! below run with `-I`, so that neither the current folder nor variables such as `PYTHONPATH` matter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::engine::find_program;
use crate::error::io_error;
use crate::{Local, LocalError};

/// The names of Python programs, the best first.
const NAMES: [&str; 7] = [
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
    "python",
];

/// A Python program that prints its path, its version and whether it can load the wheel.
/// The wheel's libraries are built for 64 bits, and not for the builds of Python without a global lock.
const WHO: &str = "import sys, sysconfig\n\
    print(sys.executable)\n\
    print('.'.join(map(str, sys.version_info[:2])))\n\
    print(sys.version_info >= (3, 10) and sys.maxsize > 2**32 \
    and not sysconfig.get_config_var('Py_GIL_DISABLED'))";

/// A Python program that prints the hash of a file.
/// It spares this crate a hash implementation that only downloads would use.
const HASH: &str = "import hashlib, sys\n\
    hash = hashlib.sha256()\n\
    with open(sys.argv[1], 'rb') as file:\n\
    \x20   for piece in iter(lambda: file.read(1 << 20), b''):\n\
    \x20       hash.update(piece)\n\
    print(hash.hexdigest())";

/// The SHA-256 of a file; `None` without a Python, or where the file cannot be read.
pub(crate) fn sha256(local: &Local, path: &Path) -> Option<String> {
    let python = find(local).ok()?;
    let said = run(
        local,
        Command::new(python)
            .args(["-I", "-S", "-c", HASH])
            .arg(path),
    )?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_string())
}

/// The first Python of a search path that can run the engine: 3.10 or later, with 64 bits and the
/// usual threads.
/// Returns the path that Python itself reports, since the program on the search path may be a wrapper. If only unfit
/// ones are there, [`LocalError::NoPython`] has the version of the first.
pub(crate) fn find(local: &Local) -> Result<PathBuf, LocalError> {
    let mut unfit = None;
    for program in NAMES
        .iter()
        .filter_map(|name| find_program(&local.search_path, name))
    {
        let Some(said) = run(local, Command::new(&program).args(["-I", "-S", "-c", WHO])) else {
            continue;
        };
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        match said.lines().collect::<Vec<_>>()[..] {
            [path, _, "True"] if Path::new(path).is_file() => return Ok(PathBuf::from(path)),
            [_, version, _] => drop(unfit.get_or_insert(version.to_string())),
            _ => {}
        }
    }
    Err(LocalError::NoPython(unfit))
}

/// How to call pip: a program, and the arguments before pip's own.
#[derive(Debug)]
pub(crate) struct Pip {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

/// Finds a pip for this Python: its own, or one in a virtual environment, or on Debian that of the package
/// `python3-pip-whl`, which can be unpacked without root. Puts new files into `folder`.
/// Each candidate is tried out, because distributions ship a `venv` module that fails when it is used. Fails with
/// [`LocalError::NoPip`] if none works.
pub(crate) fn pip(local: &Local, python: &Path, folder: &Path) -> Result<Pip, LocalError> {
    let module = |program: &Path| Pip {
        program: program.to_path_buf(),
        args: ["-m", "pip"].map(OsString::from).to_vec(),
    };
    let own = module(python);
    if works(local, &own) {
        return Ok(own);
    }
    let environment = folder.join("venv");
    if run(
        local,
        Command::new(python).args(["-m", "venv"]).arg(&environment),
    )
    .is_some()
    {
        let made = module(&environment.join("bin/python"));
        if works(local, &made) {
            return Ok(made);
        }
    }
    let made = debian(local, python, &folder.join("debian"))?;
    made.filter(|made| works(local, made))
        .ok_or_else(|| LocalError::NoPip(python.to_path_buf()))
}

/// Whether a pip can be called.
/// Some are installed but broken, so only a successful call counts.
fn works(local: &Local, pip: &Pip) -> bool {
    run(
        local,
        Command::new(&pip.program).args(&pip.args).arg("--version"),
    )
    .is_some()
}

/// Limits the environment of a command that downloads foreign code, so that it does not see keys.
pub(crate) fn limit_environment(local: &Local, command: &mut Command) {
    if let Some(environment) = &local.python_environment {
        command
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)));
    }
}

/// Runs a program and returns its output; `None` if it cannot start or fails.
/// What it writes to standard error is dropped.
fn run(local: &Local, command: &mut Command) -> Option<Output> {
    limit_environment(local, command);
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then_some(output)
}

/// Unpacks the pip of a Debian package into `folder`; `None` without `apt-get`, or if the download fails.
fn debian(local: &Local, python: &Path, folder: &Path) -> Result<Option<Pip>, LocalError> {
    let program = |name| find_program(&local.search_path, name);
    let (Some(apt), Some(dpkg)) = (program("apt-get"), program("dpkg-deb")) else {
        return Ok(None);
    };
    std::fs::create_dir_all(folder).map_err(io_error("create this folder", folder))?;
    // It checks the signature of what it fetches.
    let fetch = ["download", "--quiet", "--quiet", "python3-pip-whl"];
    if run(local, Command::new(apt).args(fetch).current_dir(folder)).is_none() {
        return Ok(None);
    }
    let Some(package) = first_in(folder, ".deb") else {
        return Ok(None);
    };
    run(
        local,
        Command::new(dpkg).arg("--extract").arg(package).arg(folder),
    );
    let wheel = first_in(&folder.join("usr/share/python-wheels"), ".whl");
    Ok(wheel.map(|wheel| Pip {
        program: python.to_path_buf(),
        args: vec![wheel.join("pip").into_os_string()],
    }))
}

/// The first file in a folder whose name ends so, in no particular order; `None` if there is none or the folder cannot
/// be read.
fn first_in(folder: &Path, ending: &str) -> Option<PathBuf> {
    let mut paths = folder
        .read_dir()
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| path.to_string_lossy().ends_with(ending))
}
