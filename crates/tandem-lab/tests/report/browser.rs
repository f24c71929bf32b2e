//! A headless browser that reads the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const NAMES: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// Runs before anything else in the page.
const WATCH: &str = "<script>window.seen = [];
addEventListener('error', (e) => seen.push(String(e.message)));
addEventListener('securitypolicyviolation', (e) => seen.push('policy: ' + e.violatedDirective));
</script>";

/// Runs when all is there, and leaves what it has seen as an attribute.
const EXAMINE: &str = "<script>
const all = (what, in_ = document) => [...in_.querySelectorAll(what)];
const root = document.documentElement;
const outside = all('main *, header *, nav *').filter((e) => {
  if (e.closest('.scroll') || e.closest('svg') || e.closest('.skip')) return false;
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
}).map((e) => e.tagName + ' ' + e.textContent.slice(0, 40)).slice(0, 5);
const empty = all('figure').filter((f) => all('.panels svg', f).some((s) =>
  s.querySelectorAll('rect,circle,path').length < 2 || s.querySelector('desc').textContent.length < 20)
  || all('.panels svg', f).length === 0).length;
let sorted = 0; const unsorted = [];
for (const table of all('table.sortable')) {
  all('thead th.number button', table).forEach((button) => {
    const at = button.parentElement.cellIndex;
    for (const way of ['ascending', 'descending']) {
      button.click();
      const values = [...table.tBodies[0].rows].map((r) => r.cells[at].querySelector('data'))
        .filter((d) => d && d.value !== '').map((d) => Number(d.value));
      const good = values.every((v, i) => i === 0 || (way === 'ascending' ? values[i - 1] <= v : values[i - 1] >= v));
      if (good && button.parentElement.getAttribute('aria-sort') === way) sorted += 1;
      else unsorted.push(table.id + ' ' + at + ' ' + way);
    }
  });
}
root.dataset.seen = JSON.stringify({
  errors: seen, hacked: Boolean(window.hacked), wide: root.scrollWidth, window: innerWidth,
  outside, figures: all('figure').length, empty, sorted, unsorted });
</script>";

/// A browser, if this machine has one.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<_> = std::env::split_paths(&path).collect();
    let mut all = NAMES.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name)));
    all.find(|program| program.is_file())
}

fn run(browser: &Path, dir: &Path, arguments: &[String], page: &Path) -> Vec<u8> {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Opens the page in a window of that width and says what is seen.
pub fn examine(browser: &Path, dir: &Path, page: &str, width: u64) -> Value {
    let watched = page.replacen("<head>", &format!("<head>{WATCH}"), 1);
    let file = dir.join("examined.html");
    fs::write(&file, watched.replacen("</body>", &format!("{EXAMINE}</body>"), 1)).expect("a copy");
    let arguments = [format!("--window-size={width},844"), "--dump-dom".to_owned()];
    let dom = String::from_utf8(run(browser, dir, &arguments, &file)).expect("text");
    let seen = dom.split("data-seen=\"").nth(1).and_then(|rest| rest.split('"').next());
    let seen = seen.expect("the page was examined").replace("&quot;", "\"").replace("&amp;", "&");
    serde_json::from_str(&seen).expect("what was seen")
}

/// The page as PDF.
pub fn print(browser: &Path, dir: &Path) -> Vec<u8> {
    let pdf = dir.join("report.pdf");
    let arguments = [format!("--print-to-pdf={}", pdf.display())];
    run(browser, dir, &arguments, &dir.join("report.html"));
    fs::read(pdf).expect("a PDF")
}
