//! Chromium without a window, asked by the DevTools protocol over a pipe: <https://chromedevtools.github.io/devtools-protocol/>

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Where Chromium reads commands and writes answers: its `--remote-debugging-pipe`.
const READS: i32 = 3;
const WRITES: i32 = 4;

pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    number: u64,
    session: Option<String>,
    events: Vec<Value>,
}

impl Browser {
    /// Nothing where there is no Chromium, which is said.
    pub fn start(home: &Path) -> Option<Browser> {
        let (its_reads, to) = pipe();
        let (from, its_writes) = pipe();
        let mut command = Command::new("chromium");
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", home.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (reads, writes) = (its_reads.into_raw_fd(), its_writes.into_raw_fd());
        // SAFETY: both calls are safe between fork and exec. High numbers first, so that neither overwrites the other.
        unsafe {
            command.pre_exec(move || {
                let high = [reads, writes].map(|fd| libc::fcntl(fd, libc::F_DUPFD, 100));
                libc::dup2(high[0], READS);
                libc::dup2(high[1], WRITES);
                Ok(())
            });
        }
        let child = command.spawn();
        // SAFETY: they are ours, and used nowhere else.
        drop(unsafe { [OwnedFd::from_raw_fd(reads), OwnedFd::from_raw_fd(writes)] });
        let Ok(child) = child else {
            eprintln!("skipped: Chromium is not installed (Debian package chromium)");
            return None;
        };
        let (to, from) = (File::from(to), BufReader::new(File::from(from)));
        Some(Browser { child, to, from, number: 0, session: None, events: Vec::new() })
    }

    /// A page of this size that is looked at, drawn and complete.
    pub fn open(&mut self, page: &Path, fragment: &str, (width, height): (u32, u32)) {
        self.session = None;
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = self.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        self.events.clear();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let listen = "addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective}`))";
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": listen }));
        self.call("Page.navigate", json!({ "url": format!("file://{}#{fragment}", page.display()) }));
        self.eval(
            "new Promise((done) => { const look = () => document.documentElement?.dataset.state === 'drawn' ? done(true) : setTimeout(look, 10); look(); })",
        );
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).unwrap();
        assert_eq!(text.pop(), Some(0), "Chromium has ended");
        serde_json::from_slice(&text).unwrap()
    }

    /// What a JavaScript expression, or the promise that it is, comes to.
    pub fn eval(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", ask);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Presses a key: a name such as `Tab`, or a character.
    pub fn press(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            key => u32::from(key.as_bytes()[0].to_ascii_uppercase()),
        };
        let text = match key {
            "Enter" => "\r",
            key if key.len() == 1 => key,
            _ => "",
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers });
            if kind == "keyDown" {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Moves the mouse over an element, at these parts of its width and height.
    pub fn hover(&mut self, selector: &str, (right, down): (f64, f64)) -> (f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const node = document.querySelector({}); node.scrollIntoView({{ block: 'center' }}); \
             const box = node.getBoundingClientRect(); return [box.left + box.width * {right}, box.top + box.height * {down}]; }})()",
            json!(selector)
        ));
        let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
        (x, y)
    }

    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.hover(selector, (0.5, 0.5));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Writes into a text field, in place of what is there.
    pub fn write(&mut self, selector: &str, text: &str) {
        self.click(selector);
        self.eval("document.activeElement.select()");
        self.call("Input.insertText", json!({ "text": text }));
        self.press("Enter", 0);
    }

    /// Takes an item of a list, by the keyboard.
    pub fn choose(&mut self, selector: &str, value: &str) {
        let named = json!(selector);
        let steps = self.eval(&format!(
            "(() => {{ const node = document.querySelector({named}); node.focus(); \
             return [...node.options].findIndex((option) => option.value === {}) - node.selectedIndex; }})()",
            json!(value)
        ));
        let steps = steps.as_i64().unwrap();
        for _ in 0..steps.abs() {
            self.press(if steps > 0 { "ArrowDown" } else { "ArrowUp" }, 0);
        }
    }

    /// What the page complained of, and what it asked the network for.
    pub fn complaints(&mut self) -> Vec<String> {
        self.eval("1");
        let complaint = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Log.entryAdded" => Some(params["entry"].to_string()),
                "Network.requestWillBeSent" if params["type"] != "Document" => {
                    Some(params["request"]["url"].to_string())
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The end to read from, and the one to write to.
fn pipe() -> (OwnedFd, OwnedFd) {
    let (from, to) = std::io::pipe().unwrap();
    (from.into(), to.into())
}
