//! What the packages are called and say. Building them takes minutes, so no test does.

use super::*;

#[test]
fn a_wheel_is_named_after_the_machine_and_its_c_library() {
    let tag = |triple| wheel_tag(triple, "glibc 2.39\n");
    assert_eq!(
        tag("x86_64-unknown-linux-gnu").as_deref(),
        Some("manylinux_2_39_x86_64")
    );
    assert_eq!(
        tag("aarch64-unknown-linux-musl").as_deref(),
        Some("musllinux_1_2_aarch64")
    );
    assert_eq!(
        tag("aarch64-apple-darwin").as_deref(),
        Some("macosx_11_0_arm64")
    );
    assert_eq!(
        tag("x86_64-apple-darwin").as_deref(),
        Some("macosx_10_12_x86_64")
    );
    assert_eq!(tag("x86_64-pc-windows-msvc"), None);
    assert_eq!(wheel_tag("x86_64-unknown-linux-gnu", ""), None);
    assert_eq!(
        wheel_name("0.1.0", "manylinux_2_39_x86_64"),
        "analects-0.1.0-py3-none-manylinux_2_39_x86_64.whl"
    );
}

#[test]
fn the_metadata_has_the_version_and_ends_with_the_readme() {
    let text = metadata("0.1.0", "# Analects\n");
    assert!(text.starts_with("Metadata-Version: 2.4\nName: analects\nVersion: 0.1.0\n"));
    let (head, body) = text.split_once("\n\n").unwrap();
    assert!(head.lines().all(|line| line.contains(": ")), "{head}");
    assert_eq!(body, "# Analects\n");
}

#[test]
fn the_version_is_that_of_the_workspace() {
    let manifest =
        "[a]\nversion = \"9\"\n[workspace.package]\nedition = \"2024\"\nversion = \"1.2.3\"\n[b]\n";
    assert_eq!(version(manifest).as_deref(), Some("1.2.3"));
    assert_eq!(version("[workspace.package]\n[b]\nversion = \"1\"\n"), None);
    let ours = read(&crate::root().join("Cargo.toml")).unwrap();
    assert!(version(&ours).is_some());
}

#[test]
fn the_machine_is_read_from_what_rustc_says() {
    let said = "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
    assert_eq!(host(said), Some("x86_64-unknown-linux-gnu"));
    assert_eq!(host("rustc 1.95.0\n"), None);
}

/// pip refuses a wheel whose record does not match its files.
#[test]
fn a_wheel_records_its_files() {
    let folder = std::env::temp_dir().join(format!("analects-wheel-{}", std::process::id()));
    let files = folder.join("files/analects-1.data/scripts");
    create(&files).unwrap();
    write(&files.join("analects"), "#!/bin/sh\n").unwrap();
    let wheel = folder.join("analects.whl");
    let mut python = Command::new("python3");
    python
        .args(["-c", WRITE_WHEEL])
        .arg(folder.join("files"))
        .arg(&wheel);
    output(python.arg("analects-1.dist-info/RECORD")).unwrap();
    let show = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1])\n\
                print(z.read('analects-1.dist-info/RECORD').decode(), end='')\n\
                print(oct(z.infolist()[0].external_attr >> 16))";
    let said = output(Command::new("python3").args(["-c", show]).arg(&wheel)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        said,
        "analects-1.data/scripts/analects,sha256=qAdtPSjSHgIBKyDq99v3VAmmJ3E0Q5Al8oLjaOMwWr8,10\n\
         analects-1.dist-info/RECORD,,\n0o100755\n"
    );
}
