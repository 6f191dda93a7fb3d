//! `cargo xtask dist`: packages the command for people without Rust, as an archive and as a Python wheel, in
//! `target/dist`. It installs the wheel into a fresh environment and runs the command from there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{self, cargo};

#[cfg(test)]
mod tests;

/// The shells whose completions are packaged, with the names under which they look for them.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "analects.bash"),
    ("fish", "analects.fish"),
    ("zsh", "_analects"),
];

/// What is packaged as it is.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "README.zh.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

/// Writes a wheel: `folder` holds its files, and the wheel is a zip of them with a record of their hashes. The time
/// stamps are fixed, so that the same files give the same wheel.
const WRITE_WHEEL: &str = r#"
import base64, hashlib, os, sys, zipfile
folder, wheel, record = sys.argv[1:]
rows = []
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    def add(name, data, mode):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100000 | mode) << 16
        archive.writestr(info, data)
    paths = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    for path in sorted(paths):
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
        add(name, data, 0o755 if "/scripts/" in name else 0o644)
    add(record, "".join(rows) + f"{record},,\n", 0o644)
"#;

/// Builds and checks the packages; false if anything failed.
pub fn run(root: &Path) -> bool {
    match package(root) {
        Ok(made) => {
            for path in made {
                println!("dist: {}", path.display());
            }
            true
        }
        Err(error) => {
            eprintln!("dist: {error}");
            false
        }
    }
}

/// Builds the packages, and returns their paths.
fn package(root: &Path) -> Result<Vec<PathBuf>, String> {
    let target = Target::of_this_machine()?;
    let version = version(&read(&root.join("Cargo.toml"))?).ok_or("Cargo.toml has no version")?;
    let build = ["build", "--release", "--locked", "-p", "analects"];
    require(&mut cargo(root, &build))?;
    let program = root.join("target/release/analects");
    let dist = root.join("target/dist");
    let work = dist.join("work");
    if work.exists() {
        fs::remove_dir_all(&work).map_err(of_path(&work))?;
    }
    create(&work)?;
    let archive = archive(
        root,
        &program,
        &dist,
        &format!("analects-{version}-{}", target.triple),
    )?;
    let wheel = wheel(root, &program, &dist, &version, &target)?;
    check_wheel(&wheel, &work, &version)?;
    fs::remove_dir_all(&work).map_err(of_path(&work))?;
    Ok(vec![archive, wheel])
}

/// Packs the program, its manual pages, its completions, and the documents.
fn archive(root: &Path, program: &Path, dist: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = dist.join("work").join(name);
    let completions = folder.join("completions");
    create(&completions)?;
    copy(program, &folder.join("analects"))?;
    for document in DOCUMENTS {
        copy(&root.join(document), &folder.join(document))?;
    }
    for (shell, file) in SHELLS {
        let script = output(Command::new(program).args(["completions", shell]))?;
        write(&completions.join(file), &script)?;
    }
    let pages = folder.join("man/man1");
    create(&pages)?;
    require(Command::new(program).args(["man", "--dir"]).arg(&pages))?;
    let archive = dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-czf")
        .arg(&archive)
        .arg("-C")
        .arg(dist.join("work"));
    require(tar.arg(name))?;
    Ok(archive)
}

/// Packs the program as a Python wheel, which puts it into the folder of scripts.
fn wheel(
    root: &Path,
    program: &Path,
    dist: &Path,
    version: &str,
    target: &Target,
) -> Result<PathBuf, String> {
    let folder = dist.join("work/wheel");
    let scripts = folder.join(format!("analects-{version}.data/scripts"));
    let info = folder.join(format!("analects-{version}.dist-info"));
    create(&scripts)?;
    create(&info.join("licenses"))?;
    copy(program, &scripts.join("analects"))?;
    for licence in DOCUMENTS.iter().filter(|name| name.starts_with("LICENSE")) {
        copy(&root.join(licence), &info.join("licenses").join(licence))?;
    }
    let readme = read(&root.join("README.md"))?;
    write(&info.join("METADATA"), &metadata(version, &readme))?;
    write(&info.join("WHEEL"), &wheel_file(&target.wheel_tag))?;
    let wheel = dist.join(wheel_name(version, &target.wheel_tag));
    let record = format!("analects-{version}.dist-info/RECORD");
    let mut python = Command::new("python3");
    python.args(["-c", WRITE_WHEEL]).arg(&folder).arg(&wheel);
    require(python.arg(record))?;
    Ok(wheel)
}

/// Installs the wheel into a fresh environment, without a network, and runs the command from there.
fn check_wheel(wheel: &Path, work: &Path, version: &str) -> Result<(), String> {
    let venv = work.join("venv");
    require(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    require(pip.arg(wheel))?;
    let said = output(Command::new(venv.join("bin/analects")).arg("--version"))?;
    let expected = format!("analects {version}");
    if said.trim() != expected {
        return Err(format!(
            "the installed command says \"{}\", and not \"{expected}\"",
            said.trim()
        ));
    }
    println!("dist: {expected} runs from the wheel");
    Ok(())
}

/// The machine that the packages are for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    /// As Rust names it, such as `x86_64-unknown-linux-gnu`.
    triple: String,
    /// As Python names it, such as `manylinux_2_39_x86_64`.
    wheel_tag: String,
}

impl Target {
    /// The target that this machine builds for, and runs.
    fn of_this_machine() -> Result<Target, String> {
        let version = output(Command::new("rustc").arg("-vV"))?;
        let triple = host(&version).ok_or("rustc does not say which machine this is")?;
        let glibc = if triple.ends_with("-linux-gnu") {
            output(Command::new("getconf").arg("GNU_LIBC_VERSION"))?
        } else {
            String::new()
        };
        let wheel_tag = wheel_tag(triple, &glibc)
            .ok_or_else(|| format!("no wheel is made for {triple}; build on Linux or macOS"))?;
        Ok(Target {
            triple: triple.to_string(),
            wheel_tag,
        })
    }
}

/// The machine in the output of `rustc -vV`.
fn host(version: &str) -> Option<&str> {
    version.lines().find_map(|line| line.strip_prefix("host: "))
}

/// Python's name for a machine; `None` where no wheel is made. `glibc` is what `getconf` says, since a program needs at
/// least the version that it was built with.
fn wheel_tag(triple: &str, glibc: &str) -> Option<String> {
    let (cpu, system) = triple.split_once('-')?;
    match system {
        "unknown-linux-gnu" => {
            let number = glibc.trim().strip_prefix("glibc ")?;
            let (major, rest) = number.split_once('.')?;
            let minor = rest.split('.').next()?;
            Some(format!("manylinux_{major}_{minor}_{cpu}"))
        }
        "unknown-linux-musl" => Some(format!("musllinux_1_2_{cpu}")),
        "apple-darwin" if cpu == "aarch64" => Some("macosx_11_0_arm64".to_string()),
        "apple-darwin" => Some(format!("macosx_10_12_{cpu}")),
        _ => None,
    }
}

/// The file name of a wheel, which pip reads.
fn wheel_name(version: &str, tag: &str) -> String {
    format!("analects-{version}-py3-none-{tag}.whl")
}

/// The file `WHEEL`, which says how to install.
fn wheel_file(tag: &str) -> String {
    format!(
        "Wheel-Version: 1.0\nGenerator: analects xtask\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    )
}

/// The file `METADATA`, which describes the package. The readme is its body.
fn metadata(version: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.4\nName: analects\nVersion: {version}\n\
         Summary: Keep AI conversations as plain Markdown files that you own.\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    )
}

/// The version of the workspace, from its manifest.
fn version(manifest: &str) -> Option<String> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    let section = package.split("\n[").next()?;
    let line = section
        .lines()
        .find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim().trim_matches('"').to_string())
}

/// Runs a command that has to succeed.
fn require(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let outcome = steps::run(&name, command);
    if outcome.ok {
        return Ok(());
    }
    Err(format!("{name} failed"))
}

/// What a command prints.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{name} failed: {said}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(of_path(path))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(of_path(path))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(of_path(from))
}

fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(of_path(folder))
}

/// Adds the path to the error of a file.
fn of_path(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}
