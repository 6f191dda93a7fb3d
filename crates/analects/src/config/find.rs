//! Where a project's file is: in the current folder or above it.

use std::path::{Path, PathBuf};

/// The file that a project may have.
const NAME: &str = ".analects.toml";

/// The nearest project file. The search ends with the home folder and where another file system
/// begins; and a folder that everybody may write to is nobody's project, so it ends there too, and
/// what lies in it does not count.
pub fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let start = Facts::of(folder)?;
    for folder in folder.ancestors() {
        let facts = Facts::of(folder)?;
        if facts.device != start.device || facts.is_everybodys {
            return None;
        }
        let file = folder.join(NAME);
        if file.is_file() {
            return Some(file);
        }
        if home.is_some_and(|home| is_same(home, folder)) {
            return None;
        }
    }
    None
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || std::fs::canonicalize(one).is_ok_and(|one| one == other)
}

struct Facts {
    device: u64,
    is_everybodys: bool,
}

impl Facts {
    #[cfg(unix)]
    fn of(folder: &Path) -> Option<Facts> {
        use std::os::unix::fs::MetadataExt;
        let facts = std::fs::metadata(folder).ok()?;
        Some(Facts { device: facts.dev(), is_everybodys: facts.mode() & 0o002 != 0 })
    }

    #[cfg(not(unix))]
    fn of(folder: &Path) -> Option<Facts> {
        folder.is_dir().then_some(Facts { device: 0, is_everybodys: false })
    }
}

#[cfg(test)]
mod tests {
    //! Real folders: how far up the search goes.

    use super::*;

    #[test]
    fn the_search_goes_up_and_ends_at_home() {
        let folder = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(folder.path()).unwrap();
        let deep = top.join("home/project/src");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(top.join(NAME), "").unwrap();
        let home = top.join("home");
        assert_eq!(project_file(&deep, Some(&home)), None);
        assert_eq!(project_file(&deep, None), Some(top.join(NAME)));
        std::fs::write(home.join(NAME), "").unwrap();
        assert_eq!(project_file(&deep, Some(&home)), Some(home.join(NAME)));
        std::fs::write(home.join("project").join(NAME), "").unwrap();
        assert_eq!(project_file(&deep, Some(&home)), Some(home.join("project").join(NAME)));
        // A folder is no file.
        std::fs::create_dir(deep.join(NAME)).unwrap();
        assert_eq!(project_file(&deep, Some(&home)), Some(home.join("project").join(NAME)));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_of_everybody_is_nobodys_project() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        let deep = open.join("mine");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(open.join(NAME), "").unwrap();
        assert_eq!(project_file(&deep, None), Some(open.join(NAME)));
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(project_file(&deep, None), None);
    }
}
