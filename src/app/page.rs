//! The page itself: what stands where, and how it starts.

use leptos::prelude::*;

use super::panels::bar::Stack;
use super::panels::compare::Compare;
use super::panels::controls::Controls;
use super::panels::cost::Cost;
use super::panels::curves::Curves;
use super::panels::dialogs::{PasteDialog, SaveDialog, ShareDialog};
use super::panels::evidence::Evidence;
use super::panels::fixes::Fixes;
use super::panels::ledger::LedgerTable;
use super::panels::methods::Methods;
use super::panels::notices::{Notices, ToastView};
use super::panels::printed::Printed;
use super::panels::saved::{SavedPanel, Shelf};
use super::panels::sources::Assumptions;
use super::panels::top_bar::TopBar;
use super::panels::verdict::{Strip, Verdict};
use super::state::State;
use super::{browser, panels};
use crate::app::ui::memo;
use crate::scenario::codec::decode;

/// Width and height of a curve and of the bar on the page, CSS pixels; nothing while they are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    plot: Option<(u16, u16)>,
    bar: Option<(u16, u16)>,
}

/// The sizes now.
fn sizes() -> Sizes {
    Sizes { plot: browser::size_of("plot-seq"), bar: browser::size_of("stack") }
}

/// Starts the page: reads the link, then takes the place of the frame that the HTML shows until here.
pub fn start() {
    browser::install_panic_hook();
    if let Some(theme) = browser::saved_theme() {
        browser::set_theme(&theme);
    }
    let sizes = sizes();
    let Some(host) = browser::host_beside_frame() else { return };
    leptos::mount::mount_to(host, move || view! { <App at_start=sizes /> }).forget();
}

/// How far the page is built. Each part is a task of its own, so that the browser can paint and take input in between; the first
/// screen takes the frame's place when it is whole.
#[derive(Clone, Copy)]
struct Built(RwSignal<u8>);

const BAR: u8 = 0;
const ANSWER: u8 = 1;
const FORM: u8 = 2;
const CURVES: u8 = 3;
const LEDGER: u8 = 4;
const REST: u8 = 5;

impl Built {
    /// Builds part after part.
    fn go_on(self, whole: impl Fn() + Copy + 'static) {
        browser::after(0, move || {
            let part = self.0.get_untracked();
            if part == CURVES {
                browser::replace_frame();
                whole();
            }
            if part < REST {
                self.0.set(part + 1);
                self.go_on(whole);
            }
        });
    }

    /// The view once that part is reached.
    fn when(self, part: u8, view: impl Fn() -> AnyView + Send + Sync + 'static) -> impl IntoView {
        let reached = memo(move || self.0.get() >= part);
        move || reached.get().then(&view)
    }
}

/// The whole page.
#[component]
pub fn App(
    /// Sizes of a curve and of the bar, where the frame of the HTML had them.
    #[prop(optional)]
    at_start: Sizes,
) -> impl IntoView {
    let decoded = decode(&browser::fragment());
    let state = State::new(decoded.scenario, decoded.compare);
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    provide_context(state);
    provide_context(Shelf::new(state));
    resize(state, at_start);
    browser::on_resize(move || resize(state, sizes()));
    browser::keep_link(state);
    browser::on_link_change(move |link| follow(state, &link));
    browser::on_undo_keys(move || state.undo(), move || state.redo());
    browser::announce(memo(move || panels::verdict::spoken(state)));
    let built = Built(RwSignal::new(BAR));
    provide_context(built);
    // Without a frame of the same size the charts find their room once they are on the page.
    built.go_on(move || resize(state, sizes()));
    view! {
        <a class="skip" href="#answer" on:click=move |event| {
            // The fragment is the scenario's: the jump must not write another one.
            event.prevent_default();
            browser::focus("answer");
        }>"Skip to the answer"</a>
        <TopBar />
        <Notices />
        <Strip />
        <main class="page">
            {built.when(REST, || view! { <Printed /> }.into_any())}
            <Desk />
            {built.when(LEDGER, || view! { <Below /> }.into_any())}
        </main>
        {built.when(LEDGER, || view! { <Foot /> }.into_any())}
        {built.when(REST, || view! { <ShareDialog /> <PasteDialog /> <SaveDialog /> <ToastView /> }.into_any())}
        <p id="announcer" class="sr" aria-live="polite"></p>
    }
}

/// The first screen: form and answer.
#[component]
fn Desk() -> impl IntoView {
    let built = expect_context::<Built>();
    view! {
        <div class="desk">
            {built.when(FORM, || view! { <Controls /> }.into_any())}
            <section class="answer" id="answer" tabindex="-1" aria-label="Answer">
                {built.when(ANSWER, || view! { <Verdict /> <Stack /> <Fixes /> }.into_any())}
                {built.when(CURVES, || view! { <Curves /> }.into_any())}
            </section>
        </div>
    }
    .into_any()
}

/// Everything below the first screen.
#[component]
fn Below() -> impl IntoView {
    let built = expect_context::<Built>();
    view! {
        <div class="below">
            <section class="section">
                <div class="pair">
                    <div>
                        <div class="section__head">
                            <h2>"Where the memory goes"</h2>
                            <p class="section__note">"On the fullest GPU, at the fullest moment. Open a line to see what is behind it."</p>
                        </div>
                        <LedgerTable />
                    </div>
                    <div>
                        <Cost />
                    </div>
                </div>
            </section>
            {built.when(REST, || view! { <Rest /> }.into_any())}
        </div>
    }
    .into_any()
}

/// What is read last.
#[component]
fn Rest() -> impl IntoView {
    view! {
        <section class="section section--screen">
            <Methods />
        </section>
        <section class="section section--screen">
            <div class="pair pair--even">
                <SavedPanel />
                <Compare />
            </div>
        </section>
        <section class="section section--screen">
            <Assumptions />
            <Evidence />
        </section>
    }
    .into_any()
}

/// Version and what the page does with data.
#[component]
fn Foot() -> impl IntoView {
    view! {
        <footer class="foot">
            <span>"Headroom " {env!("CARGO_PKG_VERSION")}</span>
            <span>"Everything is computed in this browser. Nothing is sent anywhere."</span>
            <span>"MIT or Apache-2.0"</span>
            <button type="button" class="link" on:click=|_| browser::switch_theme()>"Switch between light and dark"</button>
        </footer>
    }
}

/// Takes over the sizes that the charts have on the page.
fn resize(state: State, Sizes { plot, bar }: Sizes) {
    if let Some(size) = plot.filter(|size| *size != state.plot_size.get_untracked()) {
        state.plot_size.set(size);
    }
    if let Some((width, _)) = bar.filter(|(width, _)| *width != state.bar_width.get_untracked()) {
        state.bar_width.set(width);
    }
}

/// Opens a link that was pasted into the address bar, or gone back to.
fn follow(state: State, link: &str) {
    let decoded = decode(link);
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    if !decoded.failed {
        state.open(decoded.scenario, decoded.compare);
    }
}
