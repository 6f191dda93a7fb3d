//! Ctrl-C, SIGTERM and SIGHUP: the first one asks the turn to end and keep what came, the second one ends the
//! process. After SIGTERM and SIGHUP, a session or a watch ends, too.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::thread;

use crate::ui;

/// What a shell expects of a process that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// The same for one that lost its terminal, and for those that were told to end.
const HUNG_UP: u8 = 129;
#[cfg(unix)]
const TOLD_TO_END: u8 = 143;
#[cfg(unix)]
const TOLD_TO_QUIT: u8 = 131;
/// The signal of Ctrl-Z.
#[cfg(unix)]
const STOP: i32 = rustix::process::Signal::TSTP.as_raw();

/// The exit code for the signal that told the process to end; 0 as long as none did.
static TOLD: AtomicU8 = AtomicU8::new(0);
/// How often Ctrl-C was pressed in this answer, or a signal came that means the same.
static PRESSED: AtomicUsize = AtomicUsize::new(0);
/// Whether that counts: not between two answers of a session.
static COUNTS: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();
/// The mark of a line that is being read, if the terminal itself reads it.
static MARK: Mutex<Option<&'static str>> = Mutex::new(None);

static CLEARED: AtomicBool = AtomicBool::new(false);

/// What is said to those who press Ctrl-C where there is nothing to end.
pub const HOW_TO_LEAVE: &str = "to end the session, press Ctrl-D or type /quit";

/// The exit code of a command that was interrupted: what a shell expects for the signal that did it.
pub fn exit_code() -> u8 {
    match TOLD.load(Ordering::SeqCst) {
        0 => INTERRUPTED,
        code => code,
    }
}

/// The name of the signal that told the process to end. Ctrl-C ends an answer and is none.
pub fn told_by() -> Option<&'static str> {
    match TOLD.load(Ordering::SeqCst) {
        0 => None,
        HUNG_UP => Some("SIGHUP"),
        _ => Some("SIGTERM"),
    }
}

/// An answer begins: the second Ctrl-C in it ends the process at once. A thread of its own watches for
/// it, because the one that does the work may be stuck, such as in writing to a pipe that nobody
/// reads. Without such a thread, the first one alone has an effect.
pub fn exit_on_second() {
    PRESSED.store(0, Ordering::SeqCst);
    COUNTS.store(true, Ordering::SeqCst);
    WATCH.call_once(watch);
}

/// No answer is coming: Ctrl-C ends nothing, and is the business of whoever reads the keys.
pub fn rest() {
    COUNTS.store(false, Ordering::SeqCst);
    WATCH.call_once(watch);
}

/// While the terminal itself reads a line, which then has this mark, Ctrl-C clears it and is told how to
/// leave.
pub fn hint(mark: Option<&'static str>) {
    *MARK.lock().unwrap_or_else(PoisonError::into_inner) = mark;
}

/// Whether Ctrl-C has cleared what was typed, since the last call.
pub fn has_cleared() -> bool {
    CLEARED.swap(false, Ordering::SeqCst)
}

fn say_hint() {
    let mark = *MARK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mark) = mark {
        CLEARED.store(true, Ordering::SeqCst);
        ui::remark("");
        ui::remark(HOW_TO_LEAVE);
        ui::prompt(mark);
    }
}

fn watch() {
    let (ready, watching) = mpsc::channel();
    let watch = move || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut signals = Signals::new()?;
            let _ = ready.send(());
            loop {
                let code = signals.recv().await;
                if code == HUNG_UP {
                    // The system and the shell may both send it: it never counts as a second one.
                    PRESSED.fetch_max(1, Ordering::SeqCst);
                    continue;
                }
                let pressed = PRESSED.fetch_add(1, Ordering::SeqCst) + 1;
                if pressed > 1 && COUNTS.load(Ordering::SeqCst) {
                    ui::keys::give_up();
                    std::process::exit(code.into())
                }
                if code == INTERRUPTED {
                    say_hint();
                }
            }
        })
    };
    if thread::Builder::new().spawn(watch).is_ok() {
        // An error here means that the thread has ended already.
        let _ = watching.recv();
    }
}

/// Calls `stop` when Ctrl-C is pressed for the first time, or the process is told to end, from a thread of its
/// own. Without such a thread, either ends the process.
pub fn on_first(stop: impl FnOnce() + Send + 'static) {
    let (ready, watching) = mpsc::channel();
    let watch = move || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut signals = Signals::new()?;
            let _ = ready.send(());
            signals.recv().await;
            stop();
            Ok(())
        })
    };
    if thread::Builder::new().spawn(watch).is_ok() {
        let _ = watching.recv();
    }
}

/// From now on, what ends or stops the process from outside leaves the terminal as it was found. In an answer,
/// SIGTERM and SIGHUP end that first, and whoever asked has to end then. Without a thread for it, the terminal stays
/// as it is.
#[cfg(unix)]
pub fn keep_terminal() {
    use tokio::signal::unix::{SignalKind, signal};

    let watch = || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut ends = Ends::new()?;
            // Ctrl-\ in an answer.
            let mut told_to_quit = signal(SignalKind::quit())?;
            // Ctrl-Z, in an answer.
            let mut told_to_stop = signal(SignalKind::from_raw(STOP))?;
            loop {
                let code = tokio::select! {
                    code = ends.recv() => code,
                    _ = told_to_quit.recv() => TOLD_TO_QUIT,
                    _ = told_to_stop.recv() => {
                        ui::keys::stop().await;
                        continue;
                    }
                };
                if code != TOLD_TO_QUIT && COUNTS.load(Ordering::SeqCst) {
                    continue;
                }
                ui::keys::leave();
                std::process::exit(code.into())
            }
        })
    };
    let _ = thread::Builder::new().spawn(watch);
}

/// There are no such signals.
#[cfg(not(unix))]
pub fn keep_terminal() {}

/// Ready when Ctrl-C is pressed or the process is told to end, also if that was while the answer began.
pub async fn first() {
    let Ok(mut signals) = Signals::new() else {
        // Without a handler the signal ends the process, and the file keeps what came.
        return std::future::pending().await;
    };
    if PRESSED.load(Ordering::SeqCst) == 0 && told_by().is_none() {
        signals.recv().await;
    }
}

/// What asks an answer to end.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    ends: Ends,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            ends: Ends::new()?,
        })
    }

    /// The next one, as an exit code.
    async fn recv(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            code = self.ends.recv() => code,
        }
    }
}

/// What asks the process to end.
#[cfg(unix)]
struct Ends {
    terminate: tokio::signal::unix::Signal,
    /// `None` for a process that `nohup` started.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Ends {
    fn new() -> io::Result<Ends> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = if ignores_hang_up() {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Ends {
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// The next one, as an exit code.
    async fn recv(&mut self) -> u8 {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        let code = tokio::select! {
            _ = self.terminate.recv() => TOLD_TO_END,
            _ = hang_up => HUNG_UP,
        };
        TOLD.store(code, Ordering::SeqCst);
        code
    }
}

/// Whether whoever started the process wants it to outlive the terminal, as `nohup` does. Only Linux tells; elsewhere
/// SIGHUP ends a process that `nohup` started.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    static IGNORES: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORES.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let bit = rustix::process::Signal::HUP.as_raw() - 1;
        mask.is_some_and(|mask| mask >> bit & 1 == 1)
    })
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Signals> {
        tokio::signal::windows::ctrl_c().map(Signals)
    }

    async fn recv(&mut self) -> u8 {
        self.0.recv().await;
        INTERRUPTED
    }
}
