"""The page of a saved cluster in a real browser: what it shows, and how it is used."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.pages import PATIENCE_MS, opened, saved, served
from tests.support.pool_objects import pool
from tests.support.status_objects import ready_node
from tests.support.ui_objects import MARKUP, link, network, slice_of

expect.set_options(timeout=PATIENCE_MS)


def focused(page: Page) -> Locator:
    """Return what has the focus."""
    return page.locator("*:focus")


def test_problems_come_first(browser: Browser, address: str) -> None:
    """What is wrong is listed, and the nodes that it is on stand before the others."""
    page = opened(browser, address)
    expect(page.locator("#problems .problem.error")).to_have_count(5)
    expect(page.locator(".waiting")).to_contain_text("storage/replica-3")
    cards = page.locator(".card > .top b").all_inner_texts()
    assert cards[:2] == ["evil-node", "rack2-c"]
    assert cards[2] == "rack1-c"  # not Ready, which is a warning
    expect(page.locator(".port.bad", has_text="eth1")).to_contain_text("tainted")
    page.close()


def test_a_pod_on_its_wire(browser: Browser, address: str) -> None:
    """A pod is drawn on its link, with its interface, its address and its share."""
    page = opened(browser, address)
    line = page.locator('.line[data-key="pod/media/encoder-0"]')
    expect(line).to_contain_text("net1")
    expect(line).to_contain_text("10.0.1.10")
    expect(line).to_contain_text("12G")
    page.close()


def test_why_a_pod_waits(browser: Browser, address: str) -> None:
    """A pod that waits has its nearest device first, and a sign at the condition that it misses."""
    page = opened(browser, address)
    page.locator(".queued", has_text="encoder-wide").click()
    expect(page.locator("#detail .verdict")).to_contain_text("cannot be allocated")
    expect(page.locator("table.why thead")).to_contain_text('ifName == "eht1"')
    first = page.locator("table.why tbody tr").first
    expect(first).to_contain_text('ifName is "eth1"')
    expect(first.locator(".cross")).to_have_count(1)
    expect(first).to_contain_text("almost")
    page.close()


def test_markup_stays_text(browser: Browser, address: str) -> None:
    """Names, messages and attributes with markup are shown as they are, wherever they are shown."""
    page = opened(browser, address)
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    expect(page.locator(".card", has_text="evil-node")).to_contain_text(MARKUP)
    page.locator(".card", has_text="evil-node").locator(".line").click()
    expect(page.locator("#detail h2")).to_contain_text("bold")
    expect(page.locator("#detail .problem").first).to_contain_text(MARKUP)
    page.locator(".queued", has_text="evil-wait").click()
    expect(page.locator("table.why")).to_contain_text("onerror")
    page.locator("#detail summary", has_text="YAML").click()
    page.locator("#as-table").click()
    expect(page.locator("#table .space")).to_contain_text("evil-wait")
    assert page.locator("body img[src='x'], body b:text-is('bold')").count() == 0
    assert "taken" not in page.title()
    assert said == []
    page.close()


def test_nothing_but_this_server(browser: Browser, address: str) -> None:
    """The page may not run text, nor reach another server."""
    page = opened(browser, address)
    refused = """async () => {
        const faults = [];
        const told = new Promise((done) => addEventListener("securitypolicyviolation",
            (event) => event.violatedDirective === "connect-src" && done("connection")));
        try { document.body.innerHTML = "<i>x</i>"; } catch { faults.push("markup"); }
        fetch("http://127.0.0.1:9/").catch(() => {});
        return [...faults, await told];
    }"""
    assert page.evaluate(refused) == ["markup", "connection"]
    page.close()


def test_by_keyboard(browser: Browser, address: str) -> None:
    """The map is walked by arrows, Enter opens, Escape goes back; a slash searches."""
    page = opened(browser, address)
    page.locator('.line[data-key="pod/media/encoder-0"]').focus()
    page.keyboard.press("ArrowDown")
    expect(focused(page)).to_have_attribute("data-key", "pod/media/encoder-1")
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_contain_text("encoder-1")
    expect(focused(page)).to_contain_text("encoder-1")  # the heading of the details
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    expect(focused(page)).to_have_attribute("data-key", "pod/media/encoder-1")
    page.keyboard.press("ArrowLeft")
    expect(focused(page)).to_have_attribute("data-key", re.compile("link/.*/rack1-a/eth1"))
    page.keyboard.press("ArrowLeft")
    expect(focused(page)).to_have_attribute("data-key", "node/rack1-a")
    page.keyboard.press("/")
    expect(focused(page)).to_have_attribute("id", "search")
    page.keyboard.type("packager")
    expect(page.locator(".line")).to_have_count(7)
    page.close()


def test_a_link_to_what_is_seen(browser: Browser, address: str) -> None:
    """What is looked at is in the address: the same address shows the same."""
    page = opened(browser, address)
    page.locator("#by-namespace").select_option("storage")
    page.locator("#as-table").click()
    page.locator("#table [role=tab]", has_text="Claims").click()
    page.locator("#table .space .row", has_text="osd-1-net").click()
    expect(page.locator("#detail h2")).to_contain_text("osd-1-net")
    again = opened(browser, page.url)
    expect(again.locator("#detail h2")).to_contain_text("osd-1-net")
    expect(again.locator("#table .space .row")).to_have_count(6)
    expect(again.locator("#by-namespace")).to_have_value("storage")
    again.close()
    page.close()


def test_light_and_dark(browser: Browser, address: str) -> None:
    """The page is as the system is, until the button says otherwise; that is kept."""
    ground = "getComputedStyle(document.body).backgroundColor"
    page = opened(browser, address)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    button = page.locator("#theme")
    expect(button).to_have_text("Auto")
    button.click()
    button.click()
    expect(button).to_have_text("Light")
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="light")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(button).to_have_text("Light")
    button.click()
    button.click()
    expect(button).to_have_text("Dark")
    assert page.evaluate(ground) == dark
    page.close()


def test_address_pools(browser: Browser, tmp_path: Path) -> None:
    """A pool has a bar for its addresses, and its details lead to its network and back."""
    offered = network("media-net", parent="eth1")
    offered["spec"]["ipam"] = {"type": "netclaim", "pool": "media"}
    ready = [{"type": "Ready", "status": "True", "reason": "Valid"}]
    status = {"observedGeneration": 1, "conditions": ready, "size": 250, "used": 240, "free": 10}
    path = saved(tmp_path, [offered, pool(status=status)])
    with served("ui", "-f", path) as (url, _):
        page = opened(browser, url)
        row = page.locator("#pools .pool")
        expect(row).to_contain_text("media-net · 10.1.0.0/24")
        expect(row.locator(".bar.full")).to_have_attribute(
            "aria-label", "240 of 250 addresses used"
        )
        page.locator("#problems .problem", has_text="address pool media").click()
        expect(page.locator("#detail h2")).to_contain_text("media")
        page.locator("#detail .key", has_text="media-net").click()
        expect(page.locator("#detail h2")).to_contain_text("media-net")
        page.locator("#detail .key", has_text="media").first.click()
        expect(page.locator("#detail")).to_contain_text("kind: AddressPool")
        page.locator("#as-table").click()
        page.locator("#table [role=tab]", has_text="Address pools").click()
        found = page.locator("#table .space .row")
        expect(found).to_have_count(1)
        expect(found).to_contain_text("Ready")
        expect(found).to_contain_text("240 / 250")
        expect(found).to_contain_text("media-net")
        page.close()


def test_readiness_that_is_not_known(browser: Browser, tmp_path: Path) -> None:
    """A node of which only the slices are there is not said to be ready."""
    objects = [slice_of("rack1-a", link("eth1")), ready_node("rack1-b", "True")]
    with served("ui", "-f", saved(tmp_path, [*objects, slice_of("rack1-b", link("eth1"))])) as (
        url,
        _,
    ):
        page = opened(browser, f"{url}#view=table&kind=node")
        rows = page.locator("#table .space .row")
        expect(rows.filter(has_text="rack1-a")).to_contain_text("Unknown")
        expect(rows.filter(has_text="rack1-b")).to_contain_text("Ready")
        page.close()


def test_sums_are_of_what_is_left(browser: Browser, address: str) -> None:
    """With a filter, all sums say how many are left of how many, and the tabs say the same."""
    page = opened(browser, address)
    expect(page.locator("#sums")).not_to_contain_text(" of ")
    page.locator("#by-namespace").select_option("storage")
    page.locator("#as-table").click()
    for kind in ("Nodes", "Links", "Claims", "Pods"):
        tab = page.locator("#table [role=tab]", has_text=kind).locator("small")
        word = kind.lower().removesuffix("s")
        expect(page.locator("#sums")).to_contain_text(
            re.compile(rf"{tab.inner_text()} of \d+ {word}")
        )
    page.close()


def test_on_a_phone(browser: Browser, address: str) -> None:
    """On a phone nothing is wider than the window, and the details fill it."""
    page = opened(browser, address, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator('.card[data-key="node/rack1-a"]').scroll_into_view_if_needed()
    page.locator('.line[data-key="pod/media/encoder-0"]').click()
    expect(page.locator("#detail h2")).to_contain_text("encoder-0")
    box = page.locator("#detail").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    page.close()


def test_names_for_a_screen_reader(browser: Browser, address: str) -> None:
    """Everything that can be reached has a role and a name; what is drawn says it in words too."""
    page = opened(browser, address)
    tree = page.get_by_role("tree", name="Nodes, their links, claims and pods")
    expect(
        tree.get_by_role("treeitem", name="pod encoder-0, claim encoder-0-net, Ready")
    ).to_be_visible()
    nameless = """() => {
        const reached = "button, input, select, [role=treeitem], svg[role=img]";
        const named = (one) => one.getAttribute("aria-label") || one.textContent.trim() ||
            one.labels?.length || one.title;
        const all = [...document.querySelectorAll(reached)];
        return all.filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 80));
    }"""
    assert page.evaluate(nameless) == []
    assert page.locator("#map [role=treeitem][tabindex='0']").count() == 1
    page.close()
