//! Ctrl-C, SIGTERM and SIGHUP. The first one asks the answer to end and keeps what came; the second one ends the
//! process. SIGTERM and SIGHUP also end a session or a watch.
//!
//! Several threads may listen at once, each with a runtime of its own: the one that runs the answer and ends it at the
//! first signal ([`wait_for_first`]), the watcher that counts signals and ends a process that hangs ([`begin_answer`]),
//! and the one that restores the terminal of a session ([`restore_terminal_at_end`]). They share atomics only.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::thread;

use tokio::runtime::Runtime;

use crate::ui;

/// The exit code that shells expect after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The exit codes that shells expect after the other signals.
const HUNG_UP: u8 = 129;
#[cfg(unix)]
const TERMINATED: u8 = 143;
#[cfg(unix)]
const QUIT: u8 = 131;
/// The signal that Ctrl-Z sends.
#[cfg(unix)]
const STOP: i32 = rustix::process::Signal::TSTP.as_raw();

/// The exit code for the signal that told the process to end, or 0 if none came.
/// Ctrl-C does not set it.
static END_CODE: AtomicU8 = AtomicU8::new(0);
/// How many interrupting signals came during this answer.
/// Set back to 0 when an answer begins.
static SIGNAL_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Whether an answer is coming, so that a second signal ends the process.
static IS_ANSWERING: AtomicBool = AtomicBool::new(false);
/// Starts the thread that watches for signals.
static WATCHER: Once = Once::new();
/// The mark of the line that the terminal itself reads, if it reads one.
/// A line editor handles Ctrl-C itself and does not set it.
static LINE_MARK: Mutex<Option<&'static str>> = Mutex::new(None);
/// Whether Ctrl-C cleared that line.
static HAS_CLEARED: AtomicBool = AtomicBool::new(false);

/// What to say after Ctrl-C when there is nothing to interrupt.
pub const HOW_TO_LEAVE: &str = "to end the session, press Ctrl-D or type /quit";

/// The exit code of an interrupted command: what a shell expects for the signal that interrupted it.
/// 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
pub fn exit_code() -> u8 {
    match END_CODE.load(Ordering::SeqCst) {
        0 => INTERRUPTED,
        code => code,
    }
}

/// The name of the signal that told the process to end. Ctrl-C only ends an answer, so it does not count.
/// `None` as long as the session may go on.
pub fn end_signal() -> Option<&'static str> {
    match END_CODE.load(Ordering::SeqCst) {
        0 => None,
        HUNG_UP => Some("SIGHUP"),
        _ => Some("SIGTERM"),
    }
}

/// Call this when an answer begins: from now on, a second Ctrl-C ends the process at once. A thread of its own watches
/// for it, because the main thread may be stuck, for example in a write to a pipe that nobody reads. If the thread
/// cannot start, only the first Ctrl-C has an effect.
/// Signals that came before do not count.
pub fn begin_answer() {
    SIGNAL_COUNT.store(0, Ordering::SeqCst);
    IS_ANSWERING.store(true, Ordering::SeqCst);
    WATCHER.call_once(watch);
}

/// Call this when no answer is coming: Ctrl-C is then left to whatever reads the keys.
/// The watcher keeps running, so a signal between two answers does not kill the process by surprise.
pub fn end_answer() {
    IS_ANSWERING.store(false, Ordering::SeqCst);
    WATCHER.call_once(watch);
}

/// Sets the mark of a line that the terminal itself reads, or `None` afterwards. While it is set, Ctrl-C clears the
/// line and says how to leave.
/// The mark is printed again after the remark, so the line looks as before.
pub fn set_line_mark(mark: Option<&'static str>) {
    *LINE_MARK.lock().unwrap_or_else(PoisonError::into_inner) = mark;
}

/// Whether Ctrl-C has cleared the line since the last call.
/// The reader of plain lines then drops what it has read so far.
pub fn take_cleared() -> bool {
    HAS_CLEARED.swap(false, Ordering::SeqCst)
}

/// If the terminal reads a line, says how to leave and shows the mark again.
fn remark_how_to_leave() {
    let mark = *LINE_MARK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mark) = mark else {
        return;
    };
    HAS_CLEARED.store(true, Ordering::SeqCst);
    ui::remark("");
    ui::remark(HOW_TO_LEAVE);
    ui::prompt(mark);
}

/// Starts the thread that counts signals, and waits until it is ready.
/// After this the default action of the signals is off, so it has to be in place before the answer begins.
fn watch() {
    let (ready, started) = mpsc::channel();
    if thread::Builder::new()
        .spawn(move || count_signals(ready))
        .is_ok()
    {
        // An error here means that the thread has ended already.
        let _ = started.recv();
    }
}

/// Counts signals for ever. The second one in an answer ends the process. `ready` hears when the handlers stand.
/// Returns only if the handlers cannot be set up.
fn count_signals(ready: mpsc::Sender<()>) -> io::Result<()> {
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        let _ = ready.send(());
        loop {
            let code = signals.recv().await;
            if code == HUNG_UP {
                // The system and the shell may both send it, so it never counts as a second signal.
                SIGNAL_COUNT.fetch_max(1, Ordering::SeqCst);
                continue;
            }
            let count = SIGNAL_COUNT.fetch_add(1, Ordering::SeqCst) + 1;
            if count > 1 && IS_ANSWERING.load(Ordering::SeqCst) {
                ui::keys::restore_for_exit();
                std::process::exit(code.into())
            }
            if code == INTERRUPTED {
                remark_how_to_leave();
            }
        }
    })
}

/// A runtime for one thread that waits for signals.
fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Calls `stop` on a thread of its own at the first signal. If the thread cannot start, the signal ends the process.
/// For work that has no asynchronous part, such as a watch on a file. Returns once the handler is in place.
pub fn call_on_first(stop: impl FnOnce() + Send + 'static) {
    let (ready, started) = mpsc::channel();
    let wait = move || -> io::Result<()> {
        runtime()?.block_on(async {
            let mut signals = Signals::new()?;
            let _ = ready.send(());
            signals.recv().await;
            stop();
            Ok(())
        })
    };
    if thread::Builder::new().spawn(wait).is_ok() {
        let _ = started.recv();
    }
}

/// From now on, a signal that ends or stops the process leaves the terminal as it was found. During an answer, SIGTERM
/// and SIGHUP end the answer first, and the caller has to end the process. If the thread for this cannot start, the
/// terminal keeps its settings.
#[cfg(unix)]
pub fn restore_terminal_at_end() {
    let _ = thread::Builder::new().spawn(restore_terminal_on_signals);
}

/// There are no such signals.
#[cfg(not(unix))]
pub fn restore_terminal_at_end() {}

/// Waits for signals that end or stop the process, and restores the terminal before they do.
#[cfg(unix)]
fn restore_terminal_on_signals() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    runtime()?.block_on(async {
        let mut end_signals = EndSignals::new()?;
        // Ctrl-\ in an answer.
        let mut quit = signal(SignalKind::quit())?;
        // Ctrl-Z in an answer.
        let mut stop = signal(SignalKind::from_raw(STOP))?;
        loop {
            let code = tokio::select! {
                code = end_signals.recv() => code,
                _ = quit.recv() => QUIT,
                _ = stop.recv() => {
                    ui::keys::stop_process().await;
                    continue;
                }
            };
            if code != QUIT && IS_ANSWERING.load(Ordering::SeqCst) {
                continue;
            }
            ui::keys::reset_for_exit();
            std::process::exit(code.into())
        }
    })
}

/// Whether a signal has come during this answer.
pub fn is_interrupted() -> bool {
    SIGNAL_COUNT.load(Ordering::SeqCst) > 0 || end_signal().is_some()
}

/// Waits for the first signal of this answer, which may have come while it began.
/// Returns at once if the signal has come already. Dropping the future is harmless.
pub async fn wait_for_first() {
    let Ok(mut signals) = Signals::new() else {
        // Without a handler the signal ends the process, and the file keeps what came.
        return std::future::pending().await;
    };
    if SIGNAL_COUNT.load(Ordering::SeqCst) == 0 && end_signal().is_none() {
        signals.recv().await;
    }
}

/// The signals that ask an answer to end.
/// Once a value of this type was made, these signals no longer end the process by themselves, even after it is dropped.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    end_signals: EndSignals,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            end_signals: EndSignals::new()?,
        })
    }

    /// Waits for the next signal and gives its exit code.
    async fn recv(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            code = self.end_signals.recv() => code,
        }
    }
}

/// The signals that ask the process to end.
/// Ctrl-C is not among them: in a session it only ends the answer.
#[cfg(unix)]
struct EndSignals {
    terminate: tokio::signal::unix::Signal,
    /// `None` for a process that `nohup` started.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl EndSignals {
    /// Leaves SIGHUP alone for a process that is meant to outlive its terminal.
    fn new() -> io::Result<EndSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = if ignores_hang_up() {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(EndSignals {
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// Waits for the next signal, and notes and gives its exit code.
    async fn recv(&mut self) -> u8 {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        let code = tokio::select! {
            _ = self.terminate.recv() => TERMINATED,
            _ = hang_up => HUNG_UP,
        };
        END_CODE.store(code, Ordering::SeqCst);
        code
    }
}

/// Whether the process was started to outlive the terminal, as `nohup` does. Only Linux tells; elsewhere SIGHUP ends a
/// process that `nohup` started.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    static IGNORES: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORES.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(is_hang_up_in)
    })
}

/// Whether SIGHUP is in this mask of signals.
/// The mask is that of `/proc/self/status`, whose lowest bit is signal 1.
#[cfg(unix)]
fn is_hang_up_in(mask: u64) -> bool {
    let bit = rustix::process::Signal::HUP.as_raw() - 1;
    mask >> bit & 1 == 1
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
