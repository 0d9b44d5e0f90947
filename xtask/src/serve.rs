//! A small static file server for looking at the built page.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::shell::{Outcome, say};

/// Where the search for a free port begins, and how many are tried.
const FIRST_PORT: u16 = 8080;
const PORTS_TRIED: u16 = 100;

/// A request's head may be this long.
const LONGEST_HEAD: u64 = 16 * 1024;

struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
}

/// Serves a folder until the program is ended.
///
/// # Errors
/// When the listener has no address.
pub fn serve(folder: &Path, listener: &TcpListener) -> Outcome {
    let address =
        listener.local_addr().map_err(|error| format!("the server has no address: {error}."))?;
    say(&format!("Headroom is at http://{address}/  (stop with Ctrl+C)"));
    for connection in listener.incoming().flatten() {
        let folder = folder.to_path_buf();
        thread::spawn(move || {
            // A browser that hangs up early is no error of ours.
            let _ = answer(&folder, connection);
        });
    }
    Ok(())
}

/// Takes a port of 127.0.0.1: the given one, or the first free one from 8080 on.
///
/// # Errors
/// When the port, or every port tried, is taken.
pub fn listen(port: Option<u16>) -> Outcome<TcpListener> {
    if let Some(port) = port {
        return TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            format!("port {port} cannot be used ({error}): leave out `--port` to take a free one.")
        });
    }
    (FIRST_PORT..FIRST_PORT + PORTS_TRIED)
        .find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .ok_or_else(|| format!("no free port from {FIRST_PORT} on: name one with `--port N`."))
}

fn answer(folder: &Path, mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut head = BufReader::new(connection.try_clone()?.take(LONGEST_HEAD)).lines();
    let request = head.next().transpose()?.unwrap_or_default();
    // The rest of the head is read before answering, or the browser may see its connection reset.
    for line in head {
        if line?.is_empty() {
            break;
        }
    }
    let reply = reply_to(folder, &request);
    let length = reply.body.len();
    write!(
        connection,
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        reply.status, reply.content_type
    )?;
    if !request.starts_with("HEAD ") {
        connection.write_all(&reply.body)?;
    }
    connection.flush()
}

fn reply_to(folder: &Path, request: &str) -> Reply {
    let error = |status| Reply {
        status,
        content_type: "text/plain; charset=utf-8",
        body: status.as_bytes().to_vec(),
    };
    let mut words = request.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return error("400 Bad Request");
    };
    if !matches!(method, "GET" | "HEAD") {
        return error("405 Method Not Allowed");
    }
    let file = path_below(target).map(|path| folder.join(path));
    let file = file.map(|path| if path.is_dir() { path.join("index.html") } else { path });
    match file.and_then(|path| Some((content_type(&path), fs::read(path).ok()?))) {
        Some((content_type, body)) => Reply { status: "200 OK", content_type, body },
        None => error("404 Not Found"),
    }
}

/// The path that a request asks for, relative to the served folder; nothing when it would lead out
/// of it.
fn path_below(target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let path = PathBuf::from(percent_decoded(path)?);
    path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{content_type, path_below, reply_to};

    #[test]
    fn requests_stay_below_the_folder() {
        assert_eq!(path_below("/a/b%20c.js?v=1"), Some(PathBuf::from("a/b c.js")));
        assert_eq!(path_below("/"), Some(PathBuf::new()));
        for outside in [
            "/../secret",
            "/a/../../secret",
            "/%2e%2e/secret",
            "//etc/passwd",
            "/%2fetc/passwd",
            "/%zz",
            "secret",
        ] {
            assert_eq!(path_below(outside), None, "{outside}");
        }
    }

    #[test]
    fn files_come_with_their_type_and_others_are_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let reply = reply_to(folder, "GET /Cargo.toml HTTP/1.1");
        assert_eq!((reply.status, reply.body.is_empty()), ("200 OK", false));
        assert_eq!(reply_to(folder, "GET /../Cargo.toml HTTP/1.1").status, "404 Not Found");
        assert_eq!(reply_to(folder, "GET /none HTTP/1.1").status, "404 Not Found");
        assert_eq!(reply_to(folder, "POST / HTTP/1.1").status, "405 Method Not Allowed");
        assert_eq!(reply_to(folder, "").status, "400 Bad Request");
        assert_eq!(content_type(Path::new("a_bg.wasm")), "application/wasm");
    }
}
