"""The client's verbs against a real HTTP server that answers from a script."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec
import pytest
import pytest_asyncio
import yaml
from structlog.testing import capture_logs

from netclaim.errors import RequestError
from netclaim.kube import (
    NODES,
    PODS,
    AlreadyExistsError,
    ApiError,
    Cause,
    Client,
    Cluster,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    MalformedReplyError,
    NotFoundError,
    Selection,
    ServerFaultError,
    StoredSecrets,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
    connect,
    dra_resource,
)
from netclaim.kube.transport import ERROR_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.claims.unreadable import stand_in
from tests.support.kube.stub import (
    Changing,
    Reply,
    Stream,
    StubServer,
    client_of,
    serve_stub,
    status,
)

CLAIMS = dra_resource("ResourceClaim", "v1")
CLAIM_PATH = "/apis/resource.k8s.io/v1/namespaces/blue/resourceclaims/nic"


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubServer]:
    """A server that answers from a script."""
    async with serve_stub() as server:
        yield server


@pytest_asyncio.fixture
async def client(stub: StubServer) -> AsyncIterator[Client]:
    """A client of it, without credentials."""
    async with client_of(stub) as made:
        yield made


async def ask(cluster: Cluster) -> None:
    """Make one request of a client of its own."""
    async with connect(cluster) as client:
        await client.get_path("/x")


async def test_get(stub: StubServer, client: Client) -> None:
    """Get returns the object at the path that its kind, namespace and name make."""
    stub.on("GET", CLAIM_PATH, Reply({"kind": "ResourceClaim"}))
    assert await client.get(CLAIMS, "nic", namespace="blue") == {"kind": "ResourceClaim"}


async def test_names_are_quoted(stub: StubServer, client: Client) -> None:
    """A name with a question mark stays one part of the path; one with a slash is not asked for."""
    stub.on("GET", "/api/v1/nodes/a?watch=1", Reply({}))
    await client.get(NODES, "a?watch=1")
    assert stub.seen[0].path == "/api/v1/nodes/a%3Fwatch=1"
    with pytest.raises(RequestError):
        await client.get(NODES, "../pods")
    assert len(stub.seen) == 1


async def test_list_follows_pages(stub: StubServer, client: Client) -> None:
    """A list asks for page after page and returns all items with the last page's version."""
    first = {"metadata": {"resourceVersion": "7", "continue": "tok"}, "items": [{"a": 1}]}
    last = {"metadata": {"resourceVersion": "7"}, "items": [{"a": 2}, {"a": 3}]}
    stub.on("GET", "/api/v1/pods", Reply(first), Reply(last))
    listing = await client.list(Selection(PODS, labels="app=x", fields="spec.nodeName=n"), page=1)
    assert [item["a"] for item in listing.items] == [1, 2, 3]
    assert listing.resource_version == "7"
    selectors = {"labelSelector": "app=x", "fieldSelector": "spec.nodeName=n", "limit": "1"}
    assert [seen.query for seen in stub.seen] == [selectors, {**selectors, "continue": "tok"}]


async def test_a_list_keeps_of_a_page_what_is_wanted(stub: StubServer, client: Client) -> None:
    """Before it asks for the next one, so that a long list is never there as a whole."""
    first = {"metadata": {"resourceVersion": "7", "continue": "tok"}, "items": [{"a": 1, "b": 0}]}
    last = {"metadata": {"resourceVersion": "7"}, "items": [{"a": 2, "b": 0}]}
    stub.on("GET", "/api/v1/pods", Reply(first), Reply(last))
    asked: list[int] = []

    def keep(found: JsonObject) -> JsonObject:
        asked.append(len(stub.seen))
        return {"a": found["a"]}

    listing = await client.list(Selection(PODS), keep=keep)
    assert listing.items == ({"a": 1}, {"a": 2})
    assert asked == [1, 2]


async def test_expired_continue_restarts_the_list(stub: StubServer, client: Client) -> None:
    """A continue token that expired on the way restarts the list in one piece, without doubles."""
    first = {"metadata": {"resourceVersion": "7", "continue": "tok"}, "items": [{"a": 1}]}
    whole = {"metadata": {"resourceVersion": "9"}, "items": [{"a": 1}, {"a": 2}]}
    gone = Reply(status(410, "Expired"), status=410)
    stub.on("GET", "/api/v1/pods", Reply(first), gone, Reply(whole))
    listing = await client.list(Selection(PODS))
    assert [item["a"] for item in listing.items] == [1, 2]
    assert listing.resource_version == "9"
    assert "limit" not in stub.seen[2].query


async def test_a_list_of_null_is_empty(stub: StubServer, client: Client) -> None:
    """`items: null`, as Go writes an empty list, is no items."""
    stub.on("GET", "/api/v1/pods", Reply({"metadata": {"resourceVersion": "3"}, "items": None}))
    assert (await client.list(Selection(PODS))).items == ()


async def test_pages_leave_out_what_cannot_be_read(stub: StubServer, client: Client) -> None:
    """The others of its page come, and the next page; one line of the log names some of them."""
    bad = b'{"metadata":{"name":"bad\\u001b","namespace":"n","resourceVersion":"1"},"x":"\xff"}'
    first = b'{"metadata":{"continue":"tok"},"items":[%s{"a":1}]}' % ((bad + b",") * 20)
    last = {"metadata": {"resourceVersion": "7"}, "items": [{"a": 2}]}
    stub.on("GET", "/api/v1/pods", Reply(first), Reply(last))
    with capture_logs() as logs:
        listing = await client.list(Selection(PODS))
    assert ([item["a"] for item in listing.items], listing.resource_version) == ([1, 2], "7")
    (line,) = logs
    assert (line["event"], line["resource"], line["count"]) == ("kube.unreadable", "pods", 20)
    assert line["objects"] == (r"n/bad\x1b: it is not UTF-8",) * 5


async def test_an_object_is_read_without_its_parameters(stub: StubServer, client: Client) -> None:
    """They are replaced by why they cannot be read, also in the answer to a write."""
    body = b'{"spec":{"devices":{"config":[{"opaque":{"driver":"d","parameters":{"a":"\xff"}}}]}}}'
    stub.on("GET", CLAIM_PATH, Reply(body))
    stub.on("PUT", CLAIM_PATH, Reply(body))
    read = await client.get(CLAIMS, "nic", namespace="blue")
    (entry,) = read["spec"]["devices"]["config"]
    assert entry["opaque"] == {"driver": "d", "parameters": stand_in("it is not UTF-8")}
    own = {"metadata": {"name": "nic", "namespace": "blue"}}
    assert await client.update(CLAIMS, own) == read


async def test_create_and_update(stub: StubServer, client: Client) -> None:
    """Create posts to the collection, update puts to the object, both as JSON."""
    body = {"metadata": {"name": "nic", "namespace": "blue"}, "spec": {}}
    stub.on("POST", CLAIM_PATH.removesuffix("/nic"), Reply({"made": True}, status=201))
    stub.on("PUT", f"{CLAIM_PATH}/status", Reply({"put": True}))
    assert await client.create(CLAIMS, body, field_manager="me") == {"made": True}
    assert await client.update(CLAIMS, body, subresource="status") == {"put": True}
    created, updated = stub.seen
    assert created.query == {"fieldManager": "me"}
    assert created.json == updated.json == body
    assert created.headers["Content-Type"] == "application/json"


async def test_a_body_has_nothing_that_yaml_takes_for_something_else(
    stub: StubServer, client: Client
) -> None:
    """The API server reads what is applied as YAML, which refuses some characters of JSON."""
    stub.on("PATCH", f"{CLAIM_PATH}/status", Reply({"kind": "ResourceClaim"}))
    text = "a\x00\x1b\x7f\x80\x85\x9b\u2028\u2029\u202e\ufeff\ufffe\uffff\n\U0001f600é"
    body = {"metadata": {"namespace": "blue", "name": "nic"}, "status": {"text": text}}
    await client.apply(CLAIMS, body, field_manager="node-a", subresource="status")
    sent = stub.seen[-1].body
    assert stub.seen[-1].json["status"]["text"] == text
    assert yaml.safe_load(sent)["status"]["text"] == text
    assert sent.decode().replace("\U0001f600", "").isprintable()


async def test_apply(stub: StubServer, client: Client) -> None:
    """Server-side apply is a PATCH of its own media type, with manager and force."""
    body = {"metadata": {"name": "nic", "namespace": "blue", "uid": "u"}, "status": {}}
    stub.on("PATCH", f"{CLAIM_PATH}/status", Reply(body))
    await client.apply(CLAIMS, body, field_manager="node-a", force=True, subresource="status")
    (seen,) = stub.seen
    assert seen.headers["Content-Type"] == "application/apply-patch+yaml"
    assert seen.query == {"fieldManager": "node-a", "force": "true"}
    assert seen.json == body


async def test_patches(stub: StubServer, client: Client) -> None:
    """Merge and JSON patches carry their own media types and bodies."""
    stub.on("PATCH", CLAIM_PATH, Reply({}), Reply({}))
    await client.patch(CLAIMS, "nic", {"metadata": {}}, namespace="blue")
    step = {"op": "remove", "path": "/status"}
    await client.patch(CLAIMS, "nic", [step], kind="json", namespace="blue")
    types = [seen.headers["Content-Type"] for seen in stub.seen]
    assert types == ["application/merge-patch+json", "application/json-patch+json"]
    assert stub.seen[1].json == [step]


async def test_delete_carries_preconditions(stub: StubServer, client: Client) -> None:
    """Delete names the UID and version that the object must still have."""
    stub.on("DELETE", CLAIM_PATH, Reply(status(200)), Reply(status(200)))
    await client.delete(CLAIMS, "nic", namespace="blue", uid="u", resource_version="4")
    await client.delete(CLAIMS, "nic", namespace="blue")
    assert stub.seen[0].json["preconditions"] == {"uid": "u", "resourceVersion": "4"}
    assert "preconditions" not in stub.seen[1].json


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", ApiError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", AlreadyExistsError),
        (410, "Expired", GoneError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", TooManyRequestsError),
        (500, "InternalError", ServerFaultError),
        (504, "Timeout", ServerFaultError),
    ],
)
async def test_refusals_are_told_apart(
    stub: StubServer, client: Client, code: int, reason: str, kind: type[ApiError]
) -> None:
    """Each code and reason has its class, and the error's text is the server's own message."""
    stub.on("GET", "/api/v1/nodes/n", Reply(status(code, reason, "because"), status=code))
    with pytest.raises(ApiError, match=r"^because$") as caught:
        await client.get(NODES, "n")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason) == (code, reason)


async def test_refused_credentials_are_named(stub: StubServer, client: Client) -> None:
    """The server's own word is no more than "Unauthorized"."""
    stub.on("GET", "/x", *[Reply(status(401, "Unauthorized", "Unauthorized"), status=401)] * 2)
    with pytest.raises(UnauthorizedError, match="does not accept the credentials, which may have"):
        await client.get_path("/x")


async def test_invalid_names_the_fields(stub: StubServer, client: Client) -> None:
    """A 422 carries the cause of each field."""
    cause = {"reason": "FieldValueForbidden", "message": "no", "field": "status.devices[0]"}
    stub.on("GET", "/x", Reply(status(422, "Invalid", causes=[cause]), status=422))
    with pytest.raises(InvalidError) as caught:
        await client.get_path("/x")
    assert caught.value.causes == (Cause("status.devices[0]", "FieldValueForbidden", "no"),)


async def test_what_is_invalid_is_told_in_short(stub: StubServer, client: Client) -> None:
    """The text of a 422 has the object's name and each field's fault once, and no value whole."""
    value = '{"driver":"d","pool":"p","data":{"cniVersion":"1.0.0"}}'
    said = f"Invalid value: {value}: must be an allocated device in the claim"
    causes = [
        {"reason": "FieldValueInvalid", "message": said, "field": f"status.devices[{index}]"}
        for index in (0, 0, 1)
    ]
    stub.on(
        "GET",
        "/x",
        Reply(status(422, "Invalid", said, kind="C", name="nic", causes=causes), status=422),
        Reply(status(422, "Invalid", f"C nic: {said}"), status=422),
        Reply(status(422, "Invalid", said * 9, causes=causes * 99), status=422),
        Reply(status(422, "Invalid", "x" * 999), status=422),
    )
    texts = []
    for _ in range(4):
        with pytest.raises(InvalidError) as caught:
            await client.get_path("/x")
        texts.append(str(caught.value))
    brief = "Invalid value: {…}: must be an allocated device in the claim"
    assert texts[0] == f"C nic is invalid: status.devices[0]: {brief}; status.devices[1]: {brief}"
    assert texts[1] == f"C nic: {brief}"
    assert texts[2].startswith("the object is invalid: ")
    assert max(map(len, texts)) == 300


async def test_retry_after(stub: StubServer, client: Client) -> None:
    """How long to wait comes from the header, else from the Status, else is unknown."""
    stub.on(
        "GET",
        "/x",
        Reply(status(429), status=429, headers={"Retry-After": "3"}),
        Reply(status(503, retryAfterSeconds=9), status=503),
        Reply(b"<html>", status=502),
    )
    waits = []
    for _ in range(3):
        with pytest.raises(ApiError) as caught:
            await client.get_path("/x")
        waits.append(caught.value.retry_after_s)
    assert waits == [3, 9, None]


async def test_a_refusal_that_is_no_status(stub: StubServer, client: Client) -> None:
    """A proxy's error page keeps the code's class and shows how it begins."""
    stub.on("GET", "/x", Reply(b"<html>\nBad gateway</html>", status=502))
    with pytest.raises(ServerFaultError, match="502: <html> Bad gateway</html>"):
        await client.get_path("/x")


async def test_a_refusal_that_cannot_be_read(stub: StubServer, client: Client) -> None:
    """Bytes that are no text cost the message and not the class."""
    stub.on("GET", "/x", Reply(b'{"message":"\xff"}', status=403))
    with pytest.raises(ForbiddenError, match="403"):
        await client.get_path("/x")


async def test_a_refusal_that_arrives_in_pieces(stub: StubServer, client: Client) -> None:
    """A Status is read to its end, so that a name which is taken is no conflict of versions."""
    body = msgspec.json.encode(status(409, "AlreadyExists", "it is there"))
    stub.on("GET", "/x", Stream([body[:20], body[20:40], body[40:]], "end", status=409))
    with pytest.raises(AlreadyExistsError, match="it is there"):
        await client.get_path("/x")


async def test_a_refusal_is_read_as_far_as_it_is_shown(stub: StubServer, client: Client) -> None:
    """A body without an end does not hold up who asked."""
    stub.on("GET", "/x", Stream([b"<html>" + b"x" * ERROR_MAX], "hold", status=502))
    with pytest.raises(ServerFaultError, match="502: <html>x"):
        await client.get_path("/x")


async def test_a_success_that_is_no_object(stub: StubServer, client: Client) -> None:
    """A 200 with something else than a JSON object is a malformed reply."""
    stub.on("GET", "/x", Reply(b"<html>"), Reply(b"[]"))
    for _ in range(2):
        with pytest.raises(MalformedReplyError):
            await client.get_path("/x")


async def test_a_refused_token_is_renewed_once(stub: StubServer) -> None:
    """After a 401 the request goes out once more with the renewed token."""
    refusal = Reply(status(401), status=401)
    stub.on("GET", "/x", refusal, Reply({"ok": True}))
    async with client_of(stub, credentials=Changing("old", "new")) as client:
        assert await client.get_path("/x") == {"ok": True}
    tokens = [seen.headers["Authorization"] for seen in stub.seen]
    assert tokens == ["Bearer old", "Bearer new"]


async def test_a_token_refused_twice_is_an_error(stub: StubServer) -> None:
    """A second 401 in a row is the caller's to see, not a loop."""
    refusal = Reply(status(401), status=401)
    stub.on("GET", "/x", refusal, refusal, Reply({}))
    async with client_of(stub, credentials=Changing("a", "b", "c")) as client:
        with pytest.raises(UnauthorizedError):
            await client.get_path("/x")
    assert len(stub.seen) == 2


async def test_redirects_are_not_followed(stub: StubServer) -> None:
    """A redirect is an error: a token must not follow it to another host."""
    stub.on("GET", "/x", Reply(b"", status=302, headers={"Location": "/elsewhere"}))
    async with client_of(stub, credentials=Changing("secret")) as client:
        with pytest.raises(MalformedReplyError):
            await client.get_path("/x")
    assert [seen.path for seen in stub.seen] == ["/x"]


async def test_nobody_there() -> None:
    """A refused connection is Unreachable, and says in one line which server and why."""
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    address = f"127.0.0.1:{port}"
    for server in (f"http://{address}", f"https://{address}"):
        said = f"cannot reach the API server at {server}: Connection refused"
        with pytest.raises(UnreachableError, match=f"^{re.escape(said)}$"):
            await ask(Cluster(server, StoredSecrets()))
    server = "https://192.0.2.1:443"
    said = f"cannot reach the API server at {server}: the proxy {address}: Connection refused"
    with pytest.raises(UnreachableError, match=f"^{re.escape(said)}$"):
        await ask(Cluster(server, StoredSecrets(), proxy=f"http://{address}"))


async def test_somebody_else_there(stub: StubServer) -> None:
    """A server that does not speak TLS is told as that."""
    with pytest.raises(UnreachableError, match=r"^cannot reach [^<>]+: TLS: [a-z ]+$"):
        await ask(Cluster(stub.url.replace("http:", "https:"), StoredSecrets()))


async def test_a_body_cut_short(stub: StubServer, client: Client) -> None:
    """An answer that ends before its announced length is Unreachable, never half an object."""
    stub.on("GET", "/x", Stream([b'{"a":'], "cut", headers={"Content-Length": "10"}))
    with pytest.raises(UnreachableError, match=f"^cannot reach [^<>]* {stub.url}: [^<>]+$"):
        await client.get_path("/x")


async def test_text_and_time(stub: StubServer, client: Client) -> None:
    """Text is returned as it is, with its query; the server's time is that of its answers."""
    stub.on("GET", "/api/v1/namespaces/blue/pods/p/log", Reply(b"one\ntwo\n"))
    path = PODS.path(namespace="blue", name="p", subresource="log")
    assert await client.get_text(path, query={"tailLines": "2"}) == "one\ntwo\n"
    assert stub.seen[0].query == {"tailLines": "2"}
    for said, read in (
        ("Tue, 17 Nov 2026 03:00:00 GMT", datetime(2026, 11, 17, 3, tzinfo=UTC)),
        ("soon", None),
    ):
        stub.on("GET", "/version", Reply({}, headers={"Date": said}))
        assert await client.server_time() == read


async def test_dry_run(stub: StubServer, client: Client) -> None:
    """A dry run says so to the server."""
    stub.on("POST", "/apis/resource.k8s.io/v1/namespaces/blue/resourceclaims", Reply({}))
    await client.create(CLAIMS, {"metadata": {"namespace": "blue"}}, dry_run=True)
    assert stub.seen[0].query == {"dryRun": "All"}
