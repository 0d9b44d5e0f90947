//! Finding, or installing, the browser that runs the tests.

use std::env;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, ask, find, program, run, say};

/// A Chromium and the driver of the same version.
pub struct Browser {
    /// The browser itself.
    pub chrome: PathBuf,
    /// Its `WebDriver` server.
    pub driver: PathBuf,
}

impl Browser {
    /// The browser named by `CHROME_PATH` and `CHROMEDRIVER`, or one on `PATH`, or a freshly
    /// installed one.
    ///
    /// # Errors
    /// When there is none and it cannot be installed here.
    pub fn bring() -> Outcome<Self> {
        if let Some(browser) = Self::present()? {
            return Ok(browser);
        }
        let root = ask("id", &["-u"]).as_deref() == Some("0");
        if !root || find(&["apt-get"]).is_none() {
            return Err("the tests need Chromium and its driver: install them with `sudo apt-get \
                install chromium chromium-driver`, or name them in CHROME_PATH and CHROMEDRIVER."
                .to_owned());
        }
        say("Installing Chromium and its driver with apt-get");
        run(&mut program("apt-get", &["update", "-qq"]))?;
        let install =
            ["install", "-y", "-qq", "--no-install-recommends", "chromium", "chromium-driver"];
        run(program("apt-get", &install).env("DEBIAN_FRONTEND", "noninteractive"))?;
        Self::present()?
            .ok_or_else(|| "apt-get installed Chromium, but it is not on PATH.".to_owned())
    }

    fn present() -> Outcome<Option<Self>> {
        let chrome = named("CHROME_PATH")?.or_else(|| {
            find(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
        });
        let driver =
            named("CHROMEDRIVER")?.or_else(|| find(&["chromedriver", "chromium.chromedriver"]));
        Ok(chrome.zip(driver).map(|(chrome, driver)| Self { chrome, driver }))
    }
}

/// The program that an environment variable names, if it is set.
fn named(variable: &str) -> Outcome<Option<PathBuf>> {
    match env::var_os(variable) {
        None => Ok(None),
        Some(path) if Path::new(&path).is_file() => Ok(Some(path.into())),
        Some(path) => Err(format!(
            "{variable} names `{}`, which is no file: correct or unset it.",
            Path::new(&path).display()
        )),
    }
}
