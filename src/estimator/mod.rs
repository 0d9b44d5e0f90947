//! (room estimator)
