//! `through bench`: measurements of the machine.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use through_core::Error;
use through_core::commands::printed;
use through_core::text::message::say;
use through_core::text::units;
use through_core::views::View;

use crate::cli::{Bench, BenchCmp, BenchCommand, BenchOutput};
use crate::named::once;
use crate::query::bench::Measurements;
use crate::query::bench::compare::{Compared, Verdict};
use crate::views::bench::{self, Question, VIEWS, ns};

/// The exit status: 1 where nothing was shown, or something rose by more than it may.
pub fn bench(arguments: &Bench) -> Result<u8, Error> {
    match &arguments.command {
        None => {
            let list = &arguments.list;
            let question = Question { select: list.select.select(), sort: list.sort, ..opened(&list.files)? };
            present("bench", question, &list.output)
        }
        Some(BenchCommand::Model(model)) => {
            let question =
                Question { select: model.select.select(), nics: model.nics.clone(), ..opened(&model.files)? };
            present("bench model", question, &model.output)
        }
        Some(BenchCommand::Cmp(cmp)) => compare(cmp),
        Some(BenchCommand::Roofline(arguments)) => Ok(u8::from(!super::roofline::roofline(arguments)?)),
    }
}

fn opened(files: &[PathBuf]) -> Result<Question, Error> {
    let measured = match files {
        [] => Measurements::newest(Path::new("."))?,
        files => Measurements::open(&once(files))?,
    };
    Ok(Question::new(measured))
}

fn present(command: &str, question: Question, to: &BenchOutput) -> Result<u8, Error> {
    let question = Question { top: to.entries.top(), format: to.written.format(), ..question };
    let view: &View<Question> = VIEWS.iter().find(|view| view.command == command).expect("each command has one");
    let document = view.ask(&question)?;
    printed(&document, to.written.format(), to.written.output.as_deref())?;
    Ok(u8::from(!document.is_found()))
}

fn compare(cmp: &BenchCmp) -> Result<u8, Error> {
    let to = &cmp.output;
    let question = Question {
        against: Rc::new(Measurements::open(std::slice::from_ref(&cmp.b))?),
        select: cmp.select.select(),
        top: to.entries.top(),
        format: to.written.format(),
        ..opened(std::slice::from_ref(&cmp.a))?
    };
    let (document, compared) = bench::compared(&question)?;
    printed(&document, to.written.format(), to.written.output.as_deref())?;
    if cmp.fail_above.is_some()
        && let Some(row) = compared.iter().find(|row| row.verdict == Verdict::Slower && launches(row) < 2)
    {
        let few = if row.a.as_ref().is_some_and(|a| a.launches < 2) { &cmp.a } else { &cmp.b };
        return Err(Error::Argument(format!(
            "{}: --fail-above needs two launches of each measurement, because launches differ by more than executions within one: add some with `groupbench run`",
            few.display()
        )));
    }
    let rises: Vec<String> = compared.iter().filter_map(|row| rise(row, cmp)).collect();
    rises.iter().for_each(say);
    Ok(u8::from(!document.is_found() || !rises.is_empty()))
}

/// Of the side that has fewer.
fn launches(row: &Compared) -> usize {
    [&row.a, &row.b].into_iter().flatten().map(|side| side.launches).min().unwrap_or(0)
}

/// What takes longer for certain, and by more than it may.
fn rise(row: &Compared, cmp: &BenchCmp) -> Option<String> {
    let (a, b) = (row.a.as_ref()?.time_s.median, row.b.as_ref()?.time_s.median);
    let allowed_s = cmp.fail_above?.seconds(a);
    let [by, allowed] = [b - a, allowed_s].map(|seconds| units::time(ns(seconds)));
    let case = &row.case;
    let step = if case.step > 0 { format!(", step {}", case.step) } else { String::new() };
    let what = format!("{}, k {}, {}, {}{step}", bench::pattern(case), case.k, case.library, units::bytes(case.bytes));
    (row.verdict == Verdict::Slower && b - a > allowed_s).then(|| format!("{what} rose by {by}, more than {allowed}"))
}
