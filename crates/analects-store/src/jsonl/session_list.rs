//! The list of sessions, and their summaries, which a cache keeps.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use jiff::Timestamp;

use super::summary_cache::ProjectSummaries;
use super::{JsonlStore, checked_name, name_between};
use crate::StoreError;
use crate::sessions::{ChainName, ListedSession, SessionSummary, TranscriptStore as _};

impl JsonlStore {
    /// Lists the sessions of a project, or of all, the latest first.
    pub(super) fn list_sessions(
        &self,
        project: Option<&str>,
    ) -> Result<Vec<ListedSession>, StoreError> {
        let mut sessions = match project {
            Some(project) => self.list_project(project)?,
            None => self.list_all_projects()?,
        };
        sessions.sort_by_key(|session| std::cmp::Reverse(session.modified));
        Ok(sessions)
    }

    /// Summarises sessions, from the cache where it knows them.
    pub(super) fn summarise_sessions(
        &self,
        sessions: &[ListedSession],
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let mut projects: BTreeMap<&str, Vec<&ListedSession>> = BTreeMap::new();
        for session in sessions {
            projects
                .entry(&session.name.project)
                .or_default()
                .push(session);
        }
        let mut by_name = HashMap::new();
        for (project, sessions) in projects {
            let path = self.summaries_path(checked_name(project)?);
            let mut summaries = ProjectSummaries::read(&*self.vfs, path);
            for session in &sessions {
                let summary = match summaries.get(session) {
                    Some(summary) => summary.clone(),
                    None => {
                        let summary = self.overview(&session.name)?.summary();
                        summaries.add(session, summary.clone());
                        summary
                    }
                };
                by_name.insert(&session.name, summary);
            }
            summaries.save(&*self.vfs, &sessions);
        }
        let mut summaries = Vec::new();
        for session in sessions {
            summaries.extend(by_name.remove(&session.name));
        }
        Ok(summaries)
    }

    /// Lists the sessions of a project, sorted by name.
    fn list_project(&self, project: &str) -> Result<Vec<ListedSession>, StoreError> {
        let folder = self.projects_folder().join(checked_name(project)?);
        let mut sessions = Vec::new();
        for path in self.list_folder(&folder)? {
            let Some(session) = name_between(&path, "", ".jsonl") else {
                continue;
            };
            let metadata = self.vfs.metadata(&path);
            let Some(metadata) = metadata.ok().filter(|metadata| metadata.is_file) else {
                continue;
            };
            let (second, nano) = metadata.modified;
            let modified = Timestamp::new(second, i32::try_from(nano).unwrap_or(0));
            sessions.push(ListedSession {
                name: ChainName::new(project, session),
                modified: modified.unwrap_or_default(),
                length: metadata.length,
            });
        }
        Ok(sessions)
    }

    /// Lists the sessions of all projects.
    fn list_all_projects(&self) -> Result<Vec<ListedSession>, StoreError> {
        let mut sessions = Vec::new();
        for folder in self.list_folder(&self.projects_folder())? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let is_file = self
                .vfs
                .metadata(&folder)
                .is_ok_and(|metadata| metadata.is_file);
            if checked_name(&name).is_ok() && !is_file {
                sessions.extend(self.list_project(&name)?);
            }
        }
        Ok(sessions)
    }

    /// Returns the file that caches the summaries of the sessions of a project.
    pub(super) fn summaries_path(&self, project: &str) -> PathBuf {
        self.folders
            .summaries_folder()
            .join(format!("{project}.jsonl"))
    }
}
