//! The settings of the terminal, and the thread that collects keys while an answer comes. A terminal buffers 4096 bytes
//! or fewer. Once that is full, Ctrl-C waits behind what was typed and has no effect.
//!
//! Two locks protect the state. [`KEYS`] is held while somebody reads keys or changes settings, and is always taken
//! first. [`ORIGINAL`] is held only for moments, because whoever ends the process on a signal needs it.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::ui::colour::is_dumb;

/// How many bytes of typing are kept.
/// More is dropped, and you are told so.
const MAX_TYPED: usize = 16 << 20;
/// How long to wait for more after something came: a terminal sends a paste in pieces.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// How long to wait for a line before looking whether a signal has come.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// For a check that returns at once.
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The settings of the terminal before we changed them, if we did. Never hold this lock for long: the end of the process
/// needs it.
static ORIGINAL: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether another program has the terminal and may have changed its settings.
/// Then [`stop_process`] leaves the settings alone.
static IS_LENT: AtomicBool = AtomicBool::new(false);

/// What was typed, and who may read the keys. Hold the lock to change the settings or to read keys, so that nobody
/// reads in a mode in which reading would block.
struct TypedKeys {
    /// Whether typing is hidden.
    is_hidden: bool,
    /// Whether the keys are ours to collect. They are not while a line is read.
    collects: bool,
    bytes: Vec<u8>,
    /// Whether more was typed than is kept.
    is_cut: bool,
}

/// The keys of this process.
static KEYS: Mutex<TypedKeys> = Mutex::new(TypedKeys {
    is_hidden: false,
    collects: false,
    bytes: Vec::new(),
    is_cut: false,
});
/// Notified when there may be keys to collect.
static CHANGED: Condvar = Condvar::new();
/// Starts the thread that collects keys.
static COLLECTOR: Once = Once::new();

/// Locks the keys, even after a panic.
fn keys() -> MutexGuard<'static, TypedKeys> {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the original settings, even after a panic.
fn original() -> MutexGuard<'static, Option<Termios>> {
    ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the settings of the terminal at once. Ignores errors: stdin may be no terminal.
fn set(settings: &Termios) {
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, settings);
}

impl TypedKeys {
    /// Whether the collecting thread may read now.
    fn is_collecting(&self) -> bool {
        self.collects && self.is_hidden
    }

    /// Shows typing again, with the original settings.
    fn restore_terminal(&mut self) {
        self.is_hidden = false;
        if let Some(settings) = &*original() {
            set(settings);
        }
    }

    /// Reads what the terminal has, without blocking. `false` if there was nothing. What is too much is read as well,
    /// or Ctrl-C would wait behind it.
    fn read(&mut self) -> bool {
        if !is_ready(&NO_WAIT) {
            return false;
        }
        let mut buffer = [0; 4096];
        let count = rustix::io::read(io::stdin(), &mut buffer).unwrap_or(0);
        let kept = count.min(MAX_TYPED.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&buffer[..kept]);
        self.is_cut |= kept < count;
        count > 0
    }

    /// Reads everything that the terminal has, without blocking.
    fn read_all(&mut self) {
        while self.read() {}
    }
}

/// Whether there are keys to read, now or within this time.
/// False also if stdin is closed in a way that cannot be polled.
fn is_ready(patience: &Timespec) -> bool {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut keys, Some(patience)).is_ok_and(|count| count > 0)
}

/// Hides typing from now on; the keys wait to be read. Ctrl-C and Ctrl-Z keep their effect, except that they no longer
/// discard what was typed before them.
/// Does nothing if stdin is not a terminal. The first call remembers the original settings, so a later call cannot
/// mistake its own for them.
pub fn hide_typing() {
    let mut keys = keys();
    let mut original = original();
    if original.is_none() {
        *original = tcgetattr(io::stdin()).ok();
    }
    let Some(mut settings) = original.clone() else {
        return;
    };
    settings.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
    settings.local_modes |= LocalModes::NOFLSH;
    set(&settings);
    keys.is_hidden = true;
    CHANGED.notify_all();
}

/// Gives the terminal its original settings.
/// Harmless if nothing was changed.
pub fn restore() {
    keys().restore_terminal();
}

/// Lends the terminal, with its original settings, to another program while `act` runs.
/// For example for an editor. The keys that it reads are its own: nothing is collected meanwhile.
pub fn lend_terminal<T>(act: impl FnOnce() -> T) -> T {
    restore();
    IS_LENT.store(true, Ordering::SeqCst);
    let result = act();
    IS_LENT.store(false, Ordering::SeqCst);
    hide_typing();
    result
}

/// Shows a question and reads a line from the terminal of this process, even if stdin is a pipe. Discards what was typed
/// before the question, so that only an answer to it counts. `None` if `is_stopped` says so, or at the end of the input.
pub fn read_answer_to(
    show: impl FnOnce(),
    is_stopped: impl Fn() -> bool,
) -> io::Result<Option<String>> {
    let terminal = File::open("/dev/tty")?;
    let ask = || {
        tcflush(&terminal, QueueSelector::IFlush)?;
        show();
        read_line_of(&terminal, is_stopped)
    };
    let is_hidden = keys().is_hidden;
    if is_hidden { lend_terminal(ask) } else { ask() }
}

fn read_line_of(mut terminal: &File, is_stopped: impl Fn() -> bool) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut ready = [PollFd::new(&terminal, PollFlags::IN)];
        let is_ready = poll(&mut ready, Some(&GLANCE)).is_ok_and(|count| count > 0);
        if is_stopped() {
            return Ok(None);
        }
        if !is_ready {
            continue;
        }
        let mut buffer = [0; 4096];
        let count = terminal.read(&mut buffer)?;
        if count == 0 {
            return Ok(None);
        }
        line.extend_from_slice(&buffer[..count]);
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Restores the terminal for a process that ends in the middle of something. Discards keys that were meant for it, so
/// that a shell does not run them. Takes no lock that others hold for long.
pub fn restore_for_exit() {
    if let Some(settings) = &*original() {
        set(settings);
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

/// Hides typing as long as this value lives.
pub struct HiddenTyping;

impl HiddenTyping {
    /// Hides typing now.
    pub fn new() -> HiddenTyping {
        hide_typing();
        HiddenTyping
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal for a process that is about to end at any point, and also switches off what a line editor
/// switched on.
pub fn reset_for_exit() {
    restore_for_exit();
    // Writes past the locks of others, and only if that does not block: the end of the process must not wait.
    let stdout = io::stdout();
    let mut out = [PollFd::new(&stdout, PollFlags::OUT)];
    let is_free = poll(&mut out, Some(&NO_WAIT)).is_ok_and(|count| count > 0);
    if is_free && stdout.is_terminal() && !is_dumb() {
        let _ = rustix::io::write(&stdout, b"\x1b[?2004l\x1b[?25h\r\n");
    }
}

/// Stops the process, as Ctrl-Z does, with the terminal's original settings, and changes them back when it continues.
/// If another program has the terminal, leaves its settings alone: it may continue before we do.
pub async fn stop_process() {
    // A signal to the process may reach another thread first, so this thread waits until it continues.
    let Ok(mut continued) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else {
        return;
    };
    let before = (!IS_LENT.load(Ordering::SeqCst)).then(pause);
    if kill_process(getpid(), Signal::STOP).is_ok() {
        continued.recv().await;
    }
    if let Some(before) = before {
        resume(&before);
    }
}

/// The state of the terminal before the process was stopped.
struct PausedTerminal {
    settings: Option<Termios>,
    is_hidden: bool,
}

/// Restores the original settings and gives those before. Keys that are ours do not go to a shell.
/// Keys that are collected are read first, because a change of settings may discard what the terminal holds.
fn pause() -> PausedTerminal {
    let mut keys = keys();
    let before = PausedTerminal {
        settings: tcgetattr(io::stdin()).ok(),
        is_hidden: keys.is_hidden,
    };
    if keys.is_collecting() {
        keys.read_all();
    }
    keys.restore_terminal();
    before
}

/// Gives the terminal the settings that it had before the process was stopped.
fn resume(before: &PausedTerminal) {
    let mut keys = keys();
    if let Some(settings) = &before.settings {
        set(settings);
    }
    keys.is_hidden = before.is_hidden;
    CHANGED.notify_all();
}

/// Collects what is typed from now on for [`take_typed`]. If the thread for this cannot start, the keys wait in the
/// terminal as long as it has room.
/// Calling it again while keys are collected changes nothing.
pub fn collect() {
    keys().collects = true;
    CHANGED.notify_all();
    COLLECTOR.call_once(|| drop(thread::Builder::new().spawn(collect_keys)));
}

/// Reads keys whenever they are ours to collect.
/// Runs on a thread of its own until the terminal is gone. It never holds the lock while it waits.
fn collect_keys() {
    loop {
        let ready = CHANGED.wait_while(keys(), |keys| !keys.is_collecting());
        drop(ready);
        if !wait_for_keys() {
            return;
        }
        // A line may have begun meanwhile, and then the keys are its own.
        let mut keys = keys();
        if keys.is_collecting() && !keys.read() {
            // The terminal is gone, or somebody else was faster.
            drop(keys);
            thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// Waits until there is something to read. `false` if that is impossible.
fn wait_for_keys() -> bool {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    matches!(poll(&mut keys, None), Ok(_) | Err(Errno::INTR))
}

/// The text that was typed since [`collect`]. From now on, keys go to the next line.
/// A paste may still be arriving, so this waits until nothing came for a moment: see [`PATIENCE`].
pub fn take_typed() -> String {
    let mut keys = keys();
    keys.collects = false;
    keys.read_all();
    while !keys.bytes.is_empty() && is_ready(&PATIENCE) && keys.read() {}
    let bytes = std::mem::take(&mut keys.bytes);
    let is_cut = std::mem::take(&mut keys.is_cut);
    drop(keys);
    if is_cut {
        let limit = MAX_TYPED >> 20;
        crate::ui::remark(&format!(
            "you typed more than {limit} MB meanwhile; the rest is lost"
        ));
    }
    super::text_of_keys(&String::from_utf8_lossy(&bytes))
}
