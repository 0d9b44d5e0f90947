//! Published prices of renting one accelerator for one hour.
//!
//! Prices change, and sellers differ by two to three times. A listed price is where the input
//! starts when somebody chooses an accelerator; links state it, so that a newer list changes no
//! older answer.

use super::AcceleratorRow;

/// A price that a seller published: US dollars for one accelerator and one hour, on demand, without
/// tax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListPrice {
    /// US dollars for one hour.
    pub us_dollars: f64,
    /// The company whose list it is.
    pub seller: &'static str,
    /// The day on which the list was read, as `2026-09-20`.
    pub read: &'static str,
}

struct PriceList {
    seller: &'static str,
    read: &'static str,
    prices: &'static [(&'static str, f64)],
}

static LISTS: [PriceList; 2] = [
    // https://akash.network/pricing/gpus/, “Starting at”, as GitHub api-evangelist/akash
    // @4301f93c844d plans/plans.yml quotes it. RTX PRO 6000: Server Edition.
    PriceList {
        seller: "Akash",
        read: "2026-09-20",
        prices: &[
            ("b300", 6.0),
            ("b200", 5.0),
            ("h200", 4.45),
            ("h100-80", 2.71),
            ("a100-80", 1.71),
            ("v100-16", 0.36),
            ("v100-pcie", 0.17),
            ("t4", 0.15),
            ("p40", 0.08),
            ("rtx-pro-6000", 2.04),
            ("rtx4000-ada", 0.41),
            ("quadro-rtx-8000", 0.21),
            ("quadro-rtx-6000", 0.17),
            ("rtx5090", 0.67),
            ("rtx4090", 0.39),
            ("rtx4080", 0.15),
            ("rtx3090-ti", 0.25),
            ("rtx3090", 0.16),
            ("rtx3060", 0.14),
        ],
    },
    // https://lambda.ai/instances, the smallest instance of each, as GitHub
    // api-evangelist/lambda-labs @1929382e7f9b plans/lambda-labs-plans-pricing.yml quotes it.
    PriceList {
        seller: "Lambda",
        read: "2026-09-20",
        prices: &[
            ("gh200-96", 2.29),
            ("h100-pcie", 3.29),
            ("a100-40", 1.99),
            ("a10", 1.29),
            ("rtx-a6000", 1.09),
        ],
    },
];

impl AcceleratorRow {
    /// Returns the price at which one of these is rented by the hour; `None` where no list that was
    /// read has it.
    ///
    /// ```
    /// let card = headroom::catalog::accelerator("b200").expect("a known accelerator");
    /// assert!(card.list_price().is_some_and(|price| price.us_dollars == 5.0));
    /// ```
    pub fn list_price(&self) -> Option<ListPrice> {
        LISTS.iter().find_map(|list| {
            let (_, us_dollars) = *list.prices.iter().find(|(id, _)| *id == self.id)?;
            Some(ListPrice { us_dollars, seller: list.seller, read: list.read })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LISTS;

    #[test]
    fn every_price_belongs_to_one_row() {
        let priced: Vec<_> = LISTS.iter().flat_map(|list| list.prices).map(|(id, _)| *id).collect();
        for (at, id) in priced.iter().enumerate() {
            let row = crate::catalog::accelerator(id).expect(id);
            assert_eq!(row.id, *id);
            assert!(!priced[..at].contains(id), "{id}");
            assert!(row.list_price().is_some_and(|price| price.us_dollars > 0.0));
        }
    }
}
