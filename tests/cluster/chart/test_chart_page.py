"""The page in the cluster, as the chart runs it: each viewer sees what their own token may list."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from lab.cluster import Lab
from lab.helm import CHART_NAMESPACE, Helm
from lab.kubectl import Kubectl
from netclaim.network import DRIVER_NAME
from tests.support.kube.certs import Authority
from tests.support.pages import PATIENCE_MS, chromium

VERBS = "--verb=get,list,watch"
LISTED = "--resource=pods,resourceclaims.resource.k8s.io,resourceclaimtemplates.resource.k8s.io"
CLASS = "cni.networking.x-k8s.io"  # of the chart
NONE = f'device.attributes["{DRIVER_NAME}"].name == "eth77"'


@pytest.fixture(scope="module")
def address(chart_lab: Lab) -> Iterator[str]:
    """The page's service, by the API server's port-forward."""
    system = chart_lab.kubectl(CHART_NAMESPACE)
    pair = Authority().issue("page", "localhost")
    text = {"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "page"}}
    system.apply({**made, "type": "kubernetes.io/tls", "stringData": text})
    Helm(chart_lab).upgrade(
        "--reuse-values", "--set=ui.enabled=true", "--set=ui.tls.secretName=page"
    )
    forward = system.start("port-forward", "service/netclaim-ui", ":443")
    assert forward.stdout is not None
    try:
        with forward.stdout as said:
            yield f"https://{said.readline().split()[2]}/"  # Forwarding from 127.0.0.1:40123 -> …
            forward.kill()
    finally:
        forward.kill()
        forward.wait()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Lend a browser."""
    with chromium() as lent:
        yield lent


@pytest.fixture
def tenants(chart_lab: Lab) -> Iterator[tuple[Kubectl, Kubectl]]:
    """Two namespaces, each with a pod that waits and with an account."""
    admin, mark = chart_lab.kubectl(), secrets.token_hex(2)
    names = [f"{each}-{mark}" for each in ("ours", "theirs")]
    for name in names:
        admin("create", "namespace", name)
        own = chart_lab.kubectl(name)
        own("create", "serviceaccount", "viewer")
        own.apply(template(), pod(f"waits-{name}"))
    yield chart_lab.kubectl(names[0]), chart_lab.kubectl(names[1])
    admin("delete", "namespace", *names, "--wait=true", "--timeout=180s")


def test_each_viewer_sees_their_own(
    chart_lab: Lab, address: str, browser: Browser, tenants: tuple[Kubectl, Kubectl]
) -> None:
    """A tenant sees a namespace and is told what is hidden; an admin sees the whole cluster."""
    ours, theirs = tenants
    account = f"--serviceaccount={ours.namespace}:viewer"
    ours("create", "role", "viewer", VERBS, LISTED)
    ours("create", "rolebinding", "viewer", "--role=viewer", account)
    page = signed_in(browser, address, ours("create", "token", "viewer").strip())
    expect(page.locator("#by-namespace option")).to_have_text(["All", ours.namespace])
    expect(page.locator("#notes")).to_contain_text("not visible to you")
    expect(verdict(page, ours)).to_contain_text("may not list deviceclasses, nodes, resourceslices")
    assert theirs.namespace not in page.content()
    page.close()

    admin, account = chart_lab.kubectl(), f"--serviceaccount={theirs.namespace}:viewer"
    admin("create", "clusterrolebinding", theirs.namespace, "--clusterrole=cluster-admin", account)
    page = signed_in(browser, address, theirs("create", "token", "viewer").strip())
    expect(page.locator(".card")).to_have_count(3)
    expect(verdict(page, ours)).to_contain_text("fits")
    expect(verdict(page, theirs)).to_contain_text("fits")
    page.close()
    admin("delete", "clusterrolebinding", theirs.namespace)


def signed_in(browser: Browser, address: str, token: str) -> Page:
    """Open the page and sign in; its certificate is signed by nobody that a browser knows."""
    page = browser.new_page(ignore_https_errors=True)
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.goto(address)
    page.get_by_role("textbox", name="Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("html[data-ready]")
    return page


def verdict(page: Page, tenant: Kubectl) -> Any:
    """Open the pod that waits, and return why it does."""
    page.locator(f'[data-key="pod/{tenant.namespace}/waits-{tenant.namespace}"]').first.click()
    return page.locator("#detail .verdict")


def template() -> dict[str, Any]:
    """A claim for a link that no node has."""
    exactly = {"deviceClassName": CLASS, "selectors": [{"cel": {"expression": NONE}}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "none"},
        "spec": {"spec": {"devices": {"requests": [{"name": "nic", "exactly": exactly}]}}},
    }


def pod(name: str) -> dict[str, Any]:
    """A pod with that claim."""
    container = {"name": "app", "image": "alpine:latest", "imagePullPolicy": "IfNotPresent"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{**container, "command": ["sleep", "infinity"]}],
            "resourceClaims": [{"name": "net", "resourceClaimTemplateName": "none"}],
        },
    }
