//! Time, money and emissions.

use super::{FieldDefault, Group, Value};
use crate::catalog::speed;

fields! { $
    /// Tokens of the whole training, for time and cost only; 1T means 1 000 000 000 000.
    TrainingTokens("tok", "training_tokens", "Training tokens")
        .whole(1..=10_000_000_000_000_000).unit("tokens").group(Group::Cost).scratch()
        .default(FieldDefault::Integer(1_000_000_000_000)),
    /// Tokens of all examples and epochs, for time and cost only; 10M means 10 000 000.
    TuningTokens("tt", "tuning_tokens", "Tokens of the fine-tuning")
        .whole(1..=10_000_000_000_000_000).unit("tokens").group(Group::Cost).tune()
        .default(FieldDefault::Integer(50_000_000)),
    /// A second answer at this share of the peak rate stands beside the time that follows from the
    /// operations; the default states nothing.
    Mfu("mfu", "mfu", "Utilisation (MFU)")
        .number(0.1..=100.0).unit("%").group(Group::Cost).train()
        .default(FieldDefault::Decimal(40.0)),
    /// Price of one GPU for one hour in US dollars, for cost only: a seller's list price or an
    /// assumption, yours to change.
    PricePerHour("price", "price_per_hour", "Price per GPU-hour")
        .number(0.0..=1_000_000.0).unit("$").group(Group::Cost).default(FieldDefault::Decimal(2.0)),
    /// Bandwidth of one GPU to other nodes, one direction, for time only: assumed as its vendor's
    /// systems have it.
    NetworkBandwidth("net", "network_bandwidth", "Network per GPU")
        .number(0.001..=1_000_000.0).unit("GB/s").group(Group::Cost).train()
        .of_accelerator(|row| Value::Decimal(speed(row.id).network_bandwidth / 1e9)),
    /// Grams of CO₂ for each kWh, for emissions only: an assumption near the world's average.
    GridEmissions("grid", "grid_grams_per_kwh", "Emissions of electricity")
        .number(0.0..=10_000.0).unit("g CO₂/kWh").group(Group::Cost).train()
        .default(FieldDefault::Decimal(450.0)),
}
