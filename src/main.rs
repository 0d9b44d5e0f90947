//! The page's binary: installs the panic hook and mounts the app.

fn main() {}
