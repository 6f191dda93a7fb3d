//! Sessions in the stores: what all of them do, and what those on disk do beyond that.

use std::sync::Arc;

use super::*;
use crate::conformance;
use crate::vfs::Memory;

#[test]
fn the_store_in_memory_is_a_store() {
    conformance::check(&|| Box::new(MemoryStore::default()));
}

#[test]
fn the_store_on_disk_is_a_store() {
    let disk = Disk::new();
    let count = std::cell::Cell::new(0);
    conformance::check(&|| {
        count.set(count.get() + 1);
        let place = |name: &str| disk.path(&format!("{name}-{}", count.get()));
        let places = Places { data: place("data"), state: place("state") };
        Box::new(JsonlStore::new(&places).with_sync(SyncPolicy::Never))
    });
}

#[test]
fn the_store_on_a_disk_in_memory_is_a_store() {
    conformance::check(&|| {
        let places = Places { data: "/disk/data".into(), state: "/disk/state".into() };
        let memory = Memory::new([std::path::Path::new("/"), std::path::Path::new("/disk")]);
        Box::new(JsonlStore::on(Arc::new(memory), &places))
    });
}
