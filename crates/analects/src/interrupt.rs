//! Ctrl-C: the first one asks the turn to end and keep what came, the second one ends the process.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::thread;

use crate::ui;

/// What a shell expects of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// The same for one that lost its terminal, and for those that were told to end.
#[cfg(unix)]
const HUNG_UP: i32 = 129;
#[cfg(unix)]
const TOLD_TO_END: i32 = 143;
#[cfg(unix)]
const TOLD_TO_QUIT: i32 = 131;
/// The signal of Ctrl-Z.
#[cfg(unix)]
const STOP: i32 = rustix::process::Signal::TSTP.as_raw();

/// How often Ctrl-C was pressed in this answer.
static PRESSED: AtomicUsize = AtomicUsize::new(0);
/// Whether that counts: not between two answers of a session.
static COUNTS: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();
/// The mark of a line that is being read, if the terminal itself reads it.
static MARK: Mutex<Option<&'static str>> = Mutex::new(None);

static CLEARED: AtomicBool = AtomicBool::new(false);

/// What is said to those who press Ctrl-C where there is nothing to end.
pub const HOW_TO_LEAVE: &str = "to end the session, press Ctrl-D or type /quit";

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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut signals = signals()?;
            let _ = ready.send(());
            while signals.recv().await.is_some() {
                let pressed = PRESSED.fetch_add(1, Ordering::SeqCst) + 1;
                if pressed > 1 && COUNTS.load(Ordering::SeqCst) {
                    ui::keys::give_up();
                    std::process::exit(INTERRUPTED)
                }
                say_hint();
            }
            Ok(())
        })
    };
    if thread::Builder::new().spawn(watch).is_ok() {
        // An error here means that the thread has ended already.
        let _ = watching.recv();
    }
}

/// Calls `stop` when the person presses Ctrl-C for the first time, from a thread of its own. Without such a
/// thread, Ctrl-C ends the process.
pub fn on_first(stop: impl FnOnce() + Send + 'static) {
    let (ready, watching) = mpsc::channel();
    let watch = move || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut signals = signals()?;
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

/// From now on, what ends or stops the process from outside leaves the terminal as it was found. Without a
/// thread for it, it does not.
#[cfg(unix)]
pub fn keep_terminal() {
    use tokio::signal::unix::{SignalKind, signal};

    let watch = || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut hung_up = signal(SignalKind::hangup())?;
            let mut told_to_end = signal(SignalKind::terminate())?;
            // Ctrl-\ in an answer.
            let mut told_to_quit = signal(SignalKind::quit())?;
            // Ctrl-Z, in an answer.
            let mut told_to_stop = signal(SignalKind::from_raw(STOP))?;
            loop {
                let code = tokio::select! {
                    _ = hung_up.recv() => HUNG_UP,
                    _ = told_to_end.recv() => TOLD_TO_END,
                    _ = told_to_quit.recv() => TOLD_TO_QUIT,
                    _ = told_to_stop.recv() => {
                        ui::keys::stop().await;
                        continue;
                    }
                };
                ui::keys::leave();
                std::process::exit(code)
            }
        })
    };
    let _ = thread::Builder::new().spawn(watch);
}

/// There are no such signals.
#[cfg(not(unix))]
pub fn keep_terminal() {}

/// Ready when the person presses Ctrl-C.
pub async fn first() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler Ctrl-C ends the process, and the file keeps what came.
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
fn signals() -> io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn signals() -> io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}
