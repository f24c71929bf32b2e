//! Where log messages go: standard error in the foreground, syslog (and so the journal) in the
//! background.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use syslog::{Facility, Formatter3164, Logger, LoggerBackend};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Chooses what is logged: TANDEM_LOG (as `debug` or `tandem_fs=trace`), or `verbose`.
fn filter(verbose: u8) -> EnvFilter {
    let level = match verbose {
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    EnvFilter::builder()
        .with_default_directive(level.into())
        .with_env_var("TANDEM_LOG")
        .from_env_lossy()
}

/// Logs to standard error from now on.
pub fn to_stderr(verbose: u8) {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let _ = tracing_subscriber::registry().with(filter(verbose)).with(lines).try_init();
}

/// Logs to syslog from now on; where there is none, nowhere.
pub fn to_syslog(verbose: u8) {
    let formatter = Formatter3164 {
        facility: Facility::LOG_DAEMON,
        hostname: None,
        process: "tandem".to_string(),
        pid: std::process::id(),
    };
    if let Ok(logger) = syslog::unix(formatter) {
        let layer = SyslogLayer { logger: Mutex::new(logger) };
        let _ = tracing_subscriber::registry().with(filter(verbose)).with(layer).try_init();
    }
}

struct SyslogLayer {
    logger: Mutex<Logger<LoggerBackend, Formatter3164>>,
}

impl<S: Subscriber> Layer<S> for SyslogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = line.0;
        let mut logger = self.logger.lock().unwrap_or_else(PoisonError::into_inner);
        // There is nobody left to tell when the log cannot be written.
        let _ = match *event.metadata().level() {
            Level::ERROR => logger.err(text),
            Level::WARN => logger.warning(text),
            Level::INFO => logger.info(text),
            _ => logger.debug(text),
        };
    }
}

/// The message, then the fields as `name=value`.
#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = if field.name() == "message" {
            let fields = std::mem::take(&mut self.0);
            write!(self.0, "{value:?}{fields}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}
