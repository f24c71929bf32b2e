//! `tandem lab run`.

mod screen;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tandem_lab::plan::Selected;
use tandem_lab::run::{Options, Summary};
use tandem_lab::stage;
use tandem_lab::store::{Asked, Store};
use tandem_lab::study::{Given, shipped};

use crate::cli::exit;
use crate::cli::lab::RunArgs;
use crate::output;

use screen::Screen;

/// Runs studies, or goes on with them.
pub fn run(args: &RunArgs) -> Result<u8> {
    let asked = asked(args)?;
    let mut store = Store::open(&args.out, !args.beside)?;
    if asked.is_empty() && store.manifest().studies.is_empty() {
        bail!("{} holds no study yet: name one (tandem lab list)", args.out.display());
    }
    if !asked.is_empty() {
        let words: Vec<String> = std::env::args().skip(1).collect();
        store.ask(asked, &format!("tandem {}", words.join(" ")))?;
    }
    signals()?;
    let options = Options {
        work: args.work.clone(),
        retry: args.retry,
        beside: args.beside,
        keep: args.keep,
    };
    let screen = Screen::new();
    let summary = tandem_lab::run::run(&mut store, &options, &|event| screen.tell(event))?;
    screen.end();
    if args.json {
        output::print_json(&summary)?;
    } else {
        output::print(&text(&summary, args))?;
    }
    Ok(if summary.failed > 0 || summary.interrupted { exit::FAILURE } else { exit::OK })
}

fn asked(args: &RunArgs) -> Result<Vec<Asked>> {
    let mut names: Vec<&str> = Vec::new();
    for name in &args.studies {
        match name.as_str() {
            "all" => names.extend(shipped().iter().map(|(name, _)| *name)),
            name => names.push(name),
        }
    }
    let repetitions = if args.trial { Some(1) } else { args.repetitions };
    let mut asked: Vec<Asked> = Vec::new();
    for name in names {
        let given = Given::find(name)?;
        Selected::new(&given.study, &args.part.scale, &args.part.only)?;
        if asked.iter().any(|one| one.study == given.study.name) {
            bail!("study {} was asked for twice", given.study.name);
        }
        asked.push(Asked {
            study: given.study.name,
            scale: args.part.scale.clone(),
            only: args.part.only.clone(),
            repetitions,
            text: given.text,
        });
    }
    Ok(asked)
}

/// The first signal ends the run under way and takes it down; the second ends the lab at once.
fn signals() -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let flag = stage::cancelled();
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .context("signals")?;
    }
    Ok(())
}

fn text(summary: &Summary, args: &RunArgs) -> String {
    let dir = args.out.display();
    let mut text = format!("{} runs measured", summary.done);
    for (count, what) in
        [(summary.failed, "failed"), (summary.skipped, "skipped"), (summary.before, "made before")]
    {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text += "\n";
    for (reason, count) in &summary.reasons {
        text += &format!("  {count} x {reason}\n");
    }
    if summary.interrupted {
        return text + &format!("interrupted; to go on: tandem lab run --out {dir}\n");
    }
    text + &format!("to read it: tandem lab report {dir} --out report.html\n")
}
