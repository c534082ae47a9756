"""`python -m lab`: the lab's commands."""

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lab.api import LabApi
from lab.cluster import DEFAULT_PORT, RELEASE_VARIABLE, Lab
from lab.demo import run_demo
from lab.drivers.driver import DEFAULT_DRIVER, is_ready, netclaim_driver, program_driver
from lab.drivers.driver_pod import driver_pod
from lab.drivers.driver_set import DriverSet
from lab.errors import LabError, UsageError
from lab.images.driver_image import DRIVER_IMAGE, build_driver_image
from lab.nodes.state import DEFAULT_NAME
from lab.parts.binaries import Binaries
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY

__all__ = ["main"]

app = typer.Typer(
    help="A real multi-node Kubernetes in namespaces on this machine. Guide: docs/lab.md.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

Name = Annotated[
    str,
    typer.Option(
        "--name",
        envvar="NETCLAIM_LAB_NAME",
        help="The lab's name; several labs may run at a time.",
    ),
]


class Carrier(StrEnum):
    """Whether a link has one."""

    ON = "on"
    OFF = "off"


def _lab(name: str) -> Lab:
    return Lab(name, Progress())


@app.command()
def up(
    name: Name = DEFAULT_NAME,
    topology: Annotated[Path, typer.Option(help="Nodes and links, as YAML.")] = DEFAULT_TOPOLOGY,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the API on 127.0.0.1; 0: any free one.")
    ] = DEFAULT_PORT,
    kubernetes: Annotated[
        str,
        typer.Option(
            help="An older release, such as 1.32.",
            envvar=RELEASE_VARIABLE,
            show_default="the newest",
        ),
    ] = "",
) -> None:
    """Build what is missing and boot the cluster; if it is up, start what does not run."""
    _lab(name).up(topology, port, kubernetes)


@app.command()
def down(name: Name = DEFAULT_NAME) -> None:
    """Remove everything, including what a killed run left behind."""
    _lab(name).down()
    print("down")


@app.command()
def status(name: Name = DEFAULT_NAME) -> None:
    """Show nodes and components. Exit code 1 if something does not run, 3 if the lab is not up."""
    lab = _lab(name)
    running = lab.state.load()
    if not running.up:
        print(f"the lab {name!r} is not up")
        raise typer.Exit(3)
    ready = LabApi(running.port, lab.state.pki).nodes()
    lines = [("node", node, "Ready" if ready.get(node) else "not ready", str(init.pid))
             for node, init in running.inits.items() if node in lab.require_up().nodes]  # fmt: skip
    lines += [("component", component, "running" if process.alive else "dead", str(process.pid))
              for component, process in sorted(running.components.items())]  # fmt: skip
    for line in [("KIND", "NAME", "STATE", "PID"), *lines]:
        print("{:10} {:45} {:10} {}".format(*line))
    print(f"\nexport KUBECONFIG={lab.state.kubeconfig}")
    if any(state in ("dead", "not ready") for _, _, state, _ in lines):
        raise typer.Exit(1)


@app.command(context_settings=PASS_THROUGH)
def kubectl() -> None:
    """Run kubectl against the lab (the lab of NETCLAIM_LAB_NAME)."""
    arguments = sys.argv[sys.argv.index("kubectl") + 1 :]  # as they are: the parser would eat "--"
    lab = _lab(os.environ.get("NETCLAIM_LAB_NAME", DEFAULT_NAME))
    lab.require_up()
    program = str(lab.binaries.path("kubectl"))
    os.environ["KUBECONFIG"] = str(lab.state.kubeconfig)
    os.execv(program, ["kubectl", *arguments])


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def node(context: typer.Context, node_name: str, name: Name = DEFAULT_NAME) -> None:
    """Run a command inside a node: `node kind-worker -- ip link` (a shell if none is given)."""
    command = _lab(name).enter_command(node_name, context.args or ["/bin/sh"])
    sys.stdout.flush()
    os.execvp(command[0], command)


@app.command()
def logs(
    component: Annotated[str, typer.Argument(help="NODE/NAME, or NAME if only one node has it.")],
    name: Name = DEFAULT_NAME,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines; 0: all.")] = 0,
) -> None:
    """Print a component's log."""
    lab = _lab(name)
    log = lab.state.log(lab.component(component).full_name)
    count = str(lines) if lines else "+1"
    tail = ["tail", "-n", count, *(["-F"] if follow else []), str(log)]
    sys.stdout.flush()
    os.execvp(tail[0], tail)


@app.command("load-image")
def load_image(
    tar: Annotated[Path, typer.Argument(help="A tar file of an OCI or Docker image.")],
    name: Name = DEFAULT_NAME,
    on: Annotated[str, typer.Option("--node", help="Only this node.")] = "",
) -> None:
    """Load an image on the nodes."""
    lab = _lab(name)
    topology = lab.require_up()
    nodes = topology.nodes
    if on:
        lab.enter_command(on, [])  # says which nodes there are, if this is none
        nodes = (on,)
    try:
        with tar.open("rb") as content:
            lab.load_image(content, nodes)
    except OSError as error:
        raise UsageError(f"{tar}: cannot be read: {error.strerror}") from error
    print(f"loaded on {', '.join(nodes)}")


@app.command("bin")
def bin_(part: Annotated[str, typer.Argument(help="A program, or cni-plugins.")]) -> None:
    """Print the path of a part (for cni-plugins, the directory); builds it if it is missing."""
    print(_lab(DEFAULT_NAME).binaries.path(part))


@app.command()
def build() -> None:
    """Build every part that is not in the cache yet."""
    Binaries(Progress()).build_all()


@app.command()
def restart(component: str, name: Name = DEFAULT_NAME) -> None:
    """Stop a component and start it again."""
    _lab(name).restart(component)


@app.command()
def kill(component: str, name: Name = DEFAULT_NAME) -> None:
    """Kill a component with SIGKILL; it stays stopped until `restart` or `up`."""
    _lab(name).kill(component)


@app.command()
def stop(component: str, name: Name = DEFAULT_NAME) -> None:
    """Stop a component with SIGTERM; it stays stopped until `restart` or `up`."""
    _lab(name).stop(component)


@app.command()
def pause(component: str, name: Name = DEFAULT_NAME) -> None:
    """Freeze a component with SIGSTOP, until `resume`."""
    _lab(name).pause(component)


@app.command()
def resume(component: str, name: Name = DEFAULT_NAME) -> None:
    """Continue a paused component."""
    _lab(name).resume(component)


@app.command()
def reboot(node_name: str, name: Name = DEFAULT_NAME) -> None:
    """Cut a node's power and boot it: processes, /run and namespaces are lost, its disk stays."""
    _lab(name).reboot(node_name)


@app.command()
def plug(
    node_name: str,
    link: str,
    name: Name = DEFAULT_NAME,
    network: Annotated[
        str, typer.Option(help="A network of the topology; by default the last one.")
    ] = "",
) -> None:
    """Add a link to a running node, until its next reboot."""
    _lab(name).plug(node_name, link, network)


@app.command()
def unplug(node_name: str, link: str, name: Name = DEFAULT_NAME) -> None:
    """Remove a link from a running node."""
    _lab(name).unplug(node_name, link)


@app.command()
def carrier(
    node_name: str,
    link: str,
    state: Annotated[Carrier, typer.Argument(help="What the link is to have.")],
    name: Name = DEFAULT_NAME,
) -> None:
    """Give a node's link a carrier, or take it away, as if its cable were pulled."""
    _lab(name).set_carrier(node_name, link, on=state is Carrier.ON)


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster up.")] = False,
) -> None:
    """Show the demo of the KubeCon talk on a cluster of its own, which is removed afterwards."""
    run_demo(_lab("demo"), keep=keep)


images = typer.Typer(help="The checkout as a container image.", no_args_is_help=True)
app.add_typer(images, name="image")


@images.command("build")
def image_build(
    output: Annotated[Path | None, typer.Option(help="Write the image to this file too.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Fetch the Debian packages again, for their updates.")
    ] = False,
) -> None:
    """Build netclaim's image, without a container engine, and print its sizes."""
    image = build_driver_image(Progress(), fresh=fresh)
    path = image.path
    if output is not None:
        try:
            path = Path(shutil.copyfile(image.path, output))
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
    print(f"{DRIVER_IMAGE}: {path}")
    print(f"{image.unpacked / 1e6:.1f} MB, {image.packed / 1e6:.1f} MB compressed")


@images.command("load")
def image_load(name: Name = DEFAULT_NAME) -> None:
    """Build netclaim's image and load it on every node."""
    lab = _lab(name)
    nodes = lab.require_up().nodes
    with build_driver_image(Progress()).path.open("rb") as content:
        lab.load_image(content, nodes)
    print(f"{DRIVER_IMAGE} loaded on {', '.join(nodes)}")


@images.command("try")
def image_try(node_name: str, name: Name = DEFAULT_NAME) -> None:
    """Run the image's driver as a pod on a node, print how fast it started, and remove it."""
    lab = _lab(name)
    lab.enter_command(node_name, [])  # says which nodes there are, if this is none
    with driver_pod(lab, node_name, "image.netclaim.dev") as start:
        print(f"registered {start.registered_s:.1f} s after the start of its process", end="")
        print(f", with {start.cpu_s:.1f} s of CPU time until it was ready")


drivers = typer.Typer(help="The checkout's driver on every node.", no_args_is_help=True)
app.add_typer(drivers, name="driver")

DriverName = Annotated[str, typer.Option("--driver-name", help="The driver's name.")]


@drivers.command("up")
def driver_up(
    name: Name = DEFAULT_NAME,
    driver_name: DriverName = DEFAULT_DRIVER,
    program: Annotated[
        Path | None,
        typer.Option(exists=True, help="Run another driver: a program such as examples/*.py."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- OPTION...]",
            help="Options of the driver, after `--`: `-- --attachments eth1=10`.",
        ),
    ] = None,
) -> None:
    """Run the driver on every node, with a token bound to that node and minimal rights."""
    record = (
        program_driver(driver_name, program, *(options or ()))
        if program
        else netclaim_driver(driver_name, *(options or ()))
    )
    DriverSet(_lab(name)).up(record)


@drivers.command("down")
def driver_down(name: Name = DEFAULT_NAME, driver_name: DriverName = DEFAULT_DRIVER) -> None:
    """Stop the driver on every node, as if its DaemonSet were removed."""
    DriverSet(_lab(name)).down(driver_name)


@drivers.command("roll")
def driver_roll(name: Name = DEFAULT_NAME, driver_name: DriverName = DEFAULT_DRIVER) -> None:
    """Replace the driver's processes like a rolling update: start the new one, end the old one."""
    DriverSet(_lab(name)).roll(driver_name)


@drivers.command("status")
def driver_status(name: Name = DEFAULT_NAME) -> None:
    """Show every driver on every node. Exit code 1 if one is not ready."""
    lab = _lab(name)
    topology, running = lab.require_up(), lab.state.load()
    print("{:40} {:20} {:10} {}".format("DRIVER", "NODE", "STATE", "PID"))
    all_ready = True
    for record in running.drivers.values():
        for node_name in topology.nodes:
            process = running.components.get(f"{node_name}/{record.component}")
            ready = is_ready(running.inits[node_name], record)
            all_ready = all_ready and ready
            state = "ready" if ready else "not ready" if process and process.alive else "dead"
            print(f"{record.name:40} {node_name:20} {state:10} {process.pid if process else '-'}")
    if not all_ready:
        raise typer.Exit(1)


@drivers.command("logs")
def driver_logs(
    node_name: str,
    name: Name = DEFAULT_NAME,
    driver_name: DriverName = DEFAULT_DRIVER,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines; 0: all.")] = 0,
) -> None:
    """Print the driver's log on a node."""
    logs(f"{node_name}/driver-{driver_name}", name, follow, lines)


def main() -> None:
    """Run; expected errors are printed as one message."""
    try:
        app(prog_name="python -m lab")
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
