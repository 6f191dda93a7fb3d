//! How many threads a model gets: one for each physical core, less one for everybody else.

use std::collections::BTreeSet;

/// The number of threads for a model's server on this machine.
pub(crate) fn threads() -> usize {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    threads_of(usable, physical(&text))
}

/// With two threads on two busy cores, each waits for the other most of the time.
fn threads_of(usable: usize, physical: Option<usize>) -> usize {
    physical.map_or(usable, |physical| physical.min(usable)).saturating_sub(1).max(1)
}

/// The physical cores that Linux lists; `None` if it does not say.
fn physical(cpuinfo: &str) -> Option<usize> {
    let value = |block: &str, name: &str| {
        let line =
            block.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
        Some(line.split(':').nth(1)?.trim().to_string())
    };
    let core = |block| Some((value(block, "physical id")?, value(block, "core id")?));
    let cores: BTreeSet<(String, String)> = cpuinfo.split("\n\n").filter_map(core).collect();
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(test)]
mod tests {
    //! Threads of machines that are not here.

    use super::*;

    #[test]
    fn one_core_is_left_to_others() {
        let pairs = [(1, None, 1), (2, None, 1), (8, None, 7), (8, Some(4), 3), (2, Some(16), 1)];
        for (usable, physical, threads) in pairs {
            assert_eq!(threads_of(usable, physical), threads);
        }
    }

    #[test]
    fn two_threads_of_one_core_are_one() {
        let cpu = |id: &str, core: &str| {
            format!("processor : x\nphysical id\t: {id}\ncore id\t\t: {core}\n\n")
        };
        let text = [cpu("0", "0"), cpu("0", "1"), cpu("0", "0"), cpu("1", "0")].concat();
        assert_eq!(physical(&text), Some(3));
        assert_eq!(physical("processor : 0\nBogoMIPS : 48\n"), None);
    }
}
