//! The settings of the terminal, and the thread that takes the keys while an answer comes. A terminal has
//! room for 4 096 bytes or less; once that is full, Ctrl-C waits behind what was typed, and does nothing.

use std::io::{self, IsTerminal};
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

/// No more than this is kept of what was typed.
const MOST: usize = 16 << 20;
/// How long more is waited for, once something came: a terminal sends a paste in pieces.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const NONE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The settings as they were found, if they were ever changed. Nobody holds this for long, since the end of
/// the process needs it.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether another program has the terminal, whose settings are then its own.
static IS_LENT: AtomicBool = AtomicBool::new(false);

/// What is known of the keys. Whoever changes the settings or reads the keys holds it, so that nobody reads
/// in a mode in which that would wait.
struct Keys {
    /// Whether keys are not shown.
    is_hushed: bool,
    /// Whether they are ours to take: not while a line is read.
    listens: bool,
    typed: Vec<u8>,
    /// Whether more was typed than is kept.
    is_cut: bool,
}

static KEYS: Mutex<Keys> = Mutex::new(Keys {
    is_hushed: false,
    listens: false,
    typed: Vec::new(),
    is_cut: false,
});
/// Told when there may be something to listen to.
static CHANGED: Condvar = Condvar::new();
static LISTENER: Once = Once::new();

fn keys() -> MutexGuard<'static, Keys> {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn found() -> MutexGuard<'static, Option<Termios>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set(settings: &Termios) {
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, settings);
}

impl Keys {
    fn is_listening(&self) -> bool {
        self.listens && self.is_hushed
    }

    fn be_usual(&mut self) {
        self.is_hushed = false;
        if let Some(settings) = &*found() {
            set(settings);
        }
    }

    /// Takes what the terminal has; whether there was something. What is too much is read, too, or Ctrl-C
    /// would wait behind it.
    fn take(&mut self) -> bool {
        let mut buffer = [0; 4096];
        if !is_ready(&NONE) {
            return false;
        }
        let count = rustix::io::read(io::stdin(), &mut buffer).unwrap_or(0);
        let kept = count.min(MOST.saturating_sub(self.typed.len()));
        self.typed.extend_from_slice(&buffer[..kept]);
        self.is_cut |= kept < count;
        count > 0
    }

    fn take_all(&mut self) {
        while self.take() {}
    }
}

/// Whether keys wait to be read, now or in time.
fn is_ready(patience: &Timespec) -> bool {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut keys, Some(patience)).is_ok_and(|count| count > 0)
}

/// Keys are not shown from now on, and wait to be read. Ctrl-C and Ctrl-Z do what they always do, but for
/// one thing: what was typed before them is not thrown away.
pub fn hush() {
    let mut keys = keys();
    let mut found = found();
    if found.is_none() {
        *found = tcgetattr(io::stdin()).ok();
    }
    if let Some(mut settings) = found.clone() {
        settings.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        settings.local_modes |= LocalModes::NOFLSH;
        set(&settings);
        keys.is_hushed = true;
        CHANGED.notify_all();
    }
}

/// The terminal is as it was found.
pub fn usual() {
    keys().be_usual();
}

/// Lets another program have the terminal, as it was found, while this runs.
pub fn lend<T>(act: impl FnOnce() -> T) -> T {
    usual();
    IS_LENT.store(true, Ordering::SeqCst);
    let done = act();
    IS_LENT.store(false, Ordering::SeqCst);
    hush();
    done
}

/// The same for a process that ends in the middle of something: keys that were meant for it do not become
/// commands of a shell. This waits for nobody.
pub fn give_up() {
    if let Some(settings) = &*found() {
        set(settings);
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

/// As long as this lives, keys are not shown.
pub struct Hushed;

impl Hushed {
    pub fn new() -> Hushed {
        hush();
        Hushed
    }
}

impl Drop for Hushed {
    fn drop(&mut self) {
        usual();
    }
}

/// The same as `give_up` for a process that is about to end, wherever it is: what an editor of lines switched
/// on is off again.
pub fn leave() {
    give_up();
    // Past the lock of others, and only if that does not wait: the end must not.
    let stdout = io::stdout();
    let mut way = [PollFd::new(&stdout, PollFlags::OUT)];
    let is_free = poll(&mut way, Some(&NONE)).is_ok_and(|count| count > 0);
    if is_free && stdout.is_terminal() && !is_dumb() {
        let _ = rustix::io::write(&stdout, b"\x1b[?2004l\x1b[?25h\r\n");
    }
}

/// Stops the process, as Ctrl-Z does, with the terminal as it was found; then all is as before. The settings of
/// a program that has the terminal are left to it: it may go on before we do.
pub async fn stop() {
    // A signal to the process may reach another thread first, so this one waits for the end of it.
    let Ok(mut goes_on) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else {
        return;
    };
    let paused = (!IS_LENT.load(Ordering::SeqCst)).then(pause);
    if kill_process(getpid(), Signal::STOP).is_ok() {
        goes_on.recv().await;
    }
    let Some((before, is_hushed)) = paused else {
        return;
    };
    let mut keys = keys();
    if let Some(before) = before {
        set(&before);
    }
    keys.is_hushed = is_hushed;
    CHANGED.notify_all();
}

/// Makes the terminal as it was found, and gives what it was instead. Keys that are ours do not go to a shell.
fn pause() -> (Option<Termios>, bool) {
    let mut keys = keys();
    let before = (tcgetattr(io::stdin()).ok(), keys.is_hushed);
    if keys.is_listening() {
        keys.take_all();
    }
    keys.be_usual();
    before
}

/// What is typed from now on is kept for `typed`. Without a thread for it, it waits in the terminal as long as
/// there is room.
pub fn listen() {
    keys().listens = true;
    CHANGED.notify_all();
    LISTENER.call_once(|| drop(thread::Builder::new().spawn(take_keys)));
}

/// Takes keys whenever they are ours to take.
fn take_keys() {
    loop {
        let waiting = CHANGED.wait_while(keys(), |keys| !keys.is_listening());
        drop(waiting);
        if !wait_for_keys() {
            return;
        }
        // Meanwhile they may have become those of a line.
        let mut keys = keys();
        if keys.is_listening() && !keys.take() {
            // The terminal is gone, or somebody was faster than we.
            drop(keys);
            thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// Waits, for ever if need be, until there is something to read; whether one can wait for that.
fn wait_for_keys() -> bool {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    matches!(poll(&mut keys, None), Ok(_) | Err(Errno::INTR))
}

/// What was typed since `listen`; from now on keys are those of a line.
pub fn typed() -> String {
    let (bytes, is_cut) = {
        let mut keys = keys();
        keys.listens = false;
        keys.take_all();
        while !keys.typed.is_empty() && is_ready(&PATIENCE) && keys.take() {}
        (
            std::mem::take(&mut keys.typed),
            std::mem::take(&mut keys.is_cut),
        )
    };
    if is_cut {
        let most = MOST >> 20;
        crate::ui::remark(&format!(
            "more than {most} MB were typed meanwhile; the rest is lost"
        ));
    }
    super::meant(&String::from_utf8_lossy(&bytes))
}
